"""Property tests here are judged by what they find, not by how long a busy machine takes."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
