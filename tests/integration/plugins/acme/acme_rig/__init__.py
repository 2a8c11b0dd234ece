"""A board, its flash route and stand-in, and a power meter, none of which exists."""

from pathlib import Path

API = 1
FOLDER = Path(__file__).parent
