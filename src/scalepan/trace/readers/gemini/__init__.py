"""Gemini CLI: chats as it saves them."""
