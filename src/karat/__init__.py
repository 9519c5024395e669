"""Karat."""
