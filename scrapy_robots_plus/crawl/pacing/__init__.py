"""How soon a request may go: floors under the delays of downloader slots."""
