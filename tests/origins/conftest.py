from tests.redis.conftest import server as server
