"""Text to vector: by the encoder that the policy names, by MiniLM if it is installed, or not at all."""

from scalepan.embed.describe import SetupFinding, describe
from scalepan.embed.embedder import Embedder, Kind
from scalepan.embed.encoder import Encoder
from scalepan.embed.fetch import fetch_model
from scalepan.embed.find import find_encoder, shared_encoder

__all__ = ["Embedder", "Encoder", "Kind", "SetupFinding", "describe", "fetch_model", "find_encoder", "shared_encoder"]
