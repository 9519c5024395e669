"""Text to vector: by the encoder that the policy names, by MiniLM where it is installed, or not at all."""

from karat.embed.describe import Finding, describe
from karat.embed.embedder import Embedder, Kind
from karat.embed.encoder import Encoder
from karat.embed.fetch import fetch_model
from karat.embed.find import find_encoder

__all__ = ["Embedder", "Encoder", "Finding", "Kind", "describe", "fetch_model", "find_encoder"]
