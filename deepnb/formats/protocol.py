"""What a package implements to add a format of session files."""

from deepnb.wings.open.protocol import Format as Format
from deepnb.wings.open.protocol import SessionFile as SessionFile
