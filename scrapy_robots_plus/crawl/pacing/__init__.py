"""How soon a request may be sent: floors under the delays of downloader slots."""
