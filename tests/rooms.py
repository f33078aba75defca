"""The packages and what each may import, from the bottom up: `tests/test_imports.py` holds the code to it."""

ROOMS: dict[str, str] = {
    "debate": "",
    "debate.facts": "",
    "http": "",
    "redaction": "",
    "server": "",
    "storage.contract": "",
    "storage": "storage.contract",
    "storage.postgres.connections": "storage storage.contract",
    "storage.postgres": "storage storage.contract storage.postgres.connections",
    "storage.sqlite.connections": "storage.contract",
    "storage.sqlite": "storage storage.contract storage.sqlite.connections",
    "debate.state": "debate.facts",
    "debate.arguments": "debate.facts debate.state",
    "debate.documents": "debate.arguments debate.facts debate.state",
    "debate.votes": "debate.facts debate.state",
    "debate.ballots": "debate.arguments debate.documents debate.facts debate.state debate.votes",
    "debate.rules": "debate.arguments debate.ballots debate.documents debate.facts debate.state debate.votes",
    "debate.schemas": "debate.facts",
    "settings": "debate.facts redaction storage storage.contract",
    "signing": "debate.facts redaction storage",
    "access": "debate.facts settings storage.contract",
    "debate.analysis": (
        "debate.arguments debate.ballots debate.documents debate.facts debate.state debate.votes"
    ),
    "debate.prompts": (
        "debate.arguments debate.ballots debate.documents debate.facts debate.rules debate.schemas "
        "debate.state debate.votes"
    ),
    "debate.replies": (
        "debate.arguments debate.ballots debate.documents debate.facts debate.prompts debate.rules "
        "debate.schemas debate.state debate.votes"
    ),
    "research": "debate.facts debate.prompts redaction settings",
    "debate.commands": "",
    "debate.commands.input_types": "debate.facts",
    "debate.commands.requests": "debate.commands.input_types debate.facts",
    "debate.commands.setup": (
        "debate.ballots debate.commands.requests debate.documents debate.facts debate.replies debate.rules "
        "debate.schemas debate.state debate.votes"
    ),
    "debate.commands.forks": (
        "debate.commands.requests debate.commands.setup debate.facts debate.rules debate.state debate.votes"
    ),
    "debate.commands.interventions": (
        "debate.ballots debate.commands.requests debate.commands.setup debate.facts debate.rules debate.state "
        "debate.votes"
    ),
    "debate.commands.revise_positions": (
        "debate.commands.interventions debate.commands.setup debate.facts debate.rules debate.state"
    ),
    "debate.records": (
        "debate.analysis debate.arguments debate.commands.forks debate.commands.interventions "
        "debate.commands.requests debate.commands.revise_positions debate.commands.setup debate.documents "
        "debate.facts debate.prompts debate.replies debate.rules debate.schemas debate.state debate.votes"
    ),
    "models": "debate.facts debate.prompts debate.replies",
    "debate.views": (
        "debate.analysis debate.arguments debate.ballots debate.commands.forks debate.commands.interventions "
        "debate.commands.setup debate.documents debate.facts debate.prompts debate.rules debate.schemas "
        "debate.state debate.votes"
    ),
    "models.embeddings": "debate.facts models",
    "models.fakes": "debate.facts debate.schemas models models.embeddings",
    "models.own": "models redaction",
    "models.client": "debate.facts debate.state models",
    "models.concurrency": "",
    "models.resilience": "models models.concurrency models.embeddings",
    "models.local": "models redaction",
    "models.prices": "debate.facts models models.fakes",
    "models.providers": (
        "debate.facts debate.rules http models models.embeddings models.prices models.resilience redaction"
    ),
    "models.windows": "debate.facts models models.fakes models.prices models.providers",
    "models.registry": (
        "debate.facts debate.votes models models.client models.concurrency models.embeddings models.fakes "
        "models.local models.own models.prices models.providers models.resilience"
    ),
    "models.model_servers": "models.providers models.registry models.windows",
    "engine": "",
    "engine.turnstile": "",
    "debate.commands.submit": "debate.ballots debate.facts debate.replies debate.rules debate.state",
    "engine.database": (
        "debate.analysis debate.ballots debate.commands.interventions debate.commands.submit debate.facts "
        "debate.replies debate.rules debate.state debate.views debate.votes redaction signing storage "
        "storage.contract"
    ),
    "engine.model_calls": (
        "debate.ballots debate.documents debate.facts debate.prompts debate.records debate.replies debate.rules "
        "debate.state engine.database engine.turnstile models models.client models.registry redaction research "
        "settings"
    ),
    "engine.runner": (
        "debate.facts debate.rules debate.state engine.database engine.model_calls models models.client "
        "redaction storage.contract"
    ),
    "engine.mirrors": "debate.facts debate.rules engine.database engine.runner storage.contract",
    "engine.driver": (
        "debate.rules debate.views engine.database engine.mirrors engine.runner models.client "
        "models.concurrency"
    ),
    "engine.setups": (
        "debate.commands.forks debate.commands.interventions debate.commands.requests debate.commands.setup "
        "debate.facts debate.rules debate.state debate.votes engine.database models.model_servers "
        "models.prices models.registry models.windows redaction research storage.contract"
    ),
    "engine.debates": (
        "debate.commands.interventions debate.commands.requests debate.commands.revise_positions "
        "debate.commands.submit debate.facts debate.records debate.rules debate.views engine.database "
        "engine.driver engine.model_calls engine.runner engine.setups models.client redaction signing "
        "storage.contract"
    ),
    "engine.receipts": (
        "debate.facts debate.records debate.views engine.database engine.debates settings signing "
        "storage.contract"
    ),
    "engine.queries": (
        "debate.facts debate.views engine.database engine.debates engine.receipts storage.contract"
    ),
    "engine.recovery": "debate.facts engine.database engine.debates storage.contract",
    "engine.transfer": (
        "debate.facts debate.records debate.state debate.views engine.database engine.debates engine.receipts "
        "storage storage.contract"
    ),
    "engine.verification": (
        "debate.facts debate.records engine.database engine.receipts engine.transfer signing storage.contract"
    ),
    "upkeep": (
        "debate.facts engine.database engine.debates engine.queries engine.receipts storage storage.contract "
        "storage.sqlite.connections"
    ),
    "hooks": (
        "debate.commands.interventions debate.facts debate.rules debate.state debate.views engine.database "
        "engine.debates http redaction settings storage.contract"
    ),
    "telemetry": (
        "debate.commands.setup debate.facts debate.state engine.database engine.debates engine.runner models "
        "models.fakes redaction settings storage.contract"
    ),
    "startup": (
        "debate.facts engine.database redaction settings storage storage.contract storage.postgres "
        "storage.sqlite storage.sqlite.connections telemetry"
    ),
    "compose": (
        "debate.facts engine.database engine.debates engine.model_calls engine.receipts engine.recovery "
        "engine.setups hooks "
        "models models.client models.embeddings models.fakes models.own models.prices models.providers "
        "models.registry models.resilience models.windows redaction research settings signing startup "
        "storage.contract telemetry upkeep"
    ),
    "evaluation": (
        "compose debate.analysis debate.ballots debate.commands.interventions debate.commands.requests "
        "debate.commands.revise_positions debate.commands.setup debate.facts debate.rules debate.state "
        "debate.views debate.votes engine.database engine.debates models.prices models.registry settings"
    ),
    "web": "",
    "web.drawing": "debate.analysis debate.arguments debate.documents debate.facts debate.state debate.views",
    "web.page": "",
    "web.record": "debate.views storage.contract web.drawing",
    "web.sources": "debate.views engine.database engine.debates engine.queries engine.receipts web.record",
    "web.site": (
        "access debate.commands.interventions debate.facts debate.rules debate.state debate.views engine.database "
        "engine.debates redaction web.page web.sources"
    ),
    "tools": "",
    "tools.listing": "access",
    "tools.tool": (
        "access debate.commands.requests debate.facts debate.rules debate.state debate.views engine.database "
        "engine.debates engine.runner tools.listing"
    ),
    "tools.asking": (
        "debate.commands.requests debate.commands.revise_positions debate.commands.setup "
        "debate.commands.submit debate.facts debate.rules debate.state debate.views engine.database models "
        "models.client models.registry tools.tool"
    ),
    "tools.hints": (
        "debate.commands.forks debate.commands.interventions debate.commands.requests debate.facts debate.rules "
        "debate.state debate.views"
    ),
    "tools.fitting": "debate.views",
    "tools.results": (
        "debate.facts debate.rules debate.views engine.database engine.debates engine.queries models.registry "
        "tools.fitting tools.hints"
    ),
    "tools.pages": "debate.facts debate.views engine.debates tools.fitting tools.results",
    "tools.texts": "debate.facts debate.views engine.queries tools.results",
    "tools.debates": (
        "debate.commands.input_types debate.commands.interventions debate.commands.requests debate.commands.setup "
        "debate.facts debate.rules debate.state debate.views engine.database engine.debates engine.queries "
        "models.client models.registry redaction tools.asking tools.hints tools.listing tools.pages "
        "tools.results tools.texts tools.tool"
    ),
    "tools.schemas": "tools.tool",
    "mcp": (
        "access compose debate.facts debate.rules debate.views engine.database engine.debates engine.queries "
        "models.own models.providers redaction settings startup storage.contract telemetry tools.asking "
        "tools.debates tools.hints tools.listing tools.results tools.texts tools.tool web.page web.sources"
    ),
    "http_server": (
        "access compose debate.facts engine.debates mcp models.own redaction settings startup storage "
        "storage.contract telemetry tools.listing web.site"
    ),
    "client_configs": "debate.facts settings",
    "cli": "",
    "cli.files": "",
    "cli.terminal": "debate.facts",
    "cli.completion": "debate.facts settings startup storage",
    "cli.defaults": "settings",
    "cli.session": (
        "cli.completion cli.terminal compose debate.facts debate.views engine.database engine.debates "
        "engine.queries models.fakes settings startup"
    ),
    "cli.live": (
        "cli.session cli.terminal debate.analysis debate.ballots debate.commands.interventions "
        "debate.commands.setup debate.documents debate.facts debate.rules debate.state debate.views "
        "debate.votes engine.database engine.debates models.registry"
    ),
    "cli.runs": "cli.live cli.session debate.facts debate.views models.fakes settings",
    "cli.debates": (
        "cli.completion cli.files cli.live cli.runs cli.session cli.terminal debate.analysis "
        "debate.commands.interventions debate.commands.requests debate.commands.setup debate.facts debate.rules "
        "debate.state debate.views engine.database engine.debates engine.queries engine.receipts "
        "engine.transfer engine.verification evaluation models.fakes models.local models.prices "
        "models.registry research settings signing storage.contract upkeep web.page web.record web.site "
        "web.sources"
    ),
    "cli.installation": (
        "access cli.files cli.session client_configs compose debate.commands.requests debate.commands.setup "
        "debate.facts debate.state debate.views engine.database engine.debates hooks models models.local "
        "models.model_servers models.prices models.providers models.registry models.windows redaction "
        "research settings signing startup storage storage.contract upkeep"
    ),
    "cli.main": (
        "cli.completion cli.debates cli.defaults cli.installation cli.session debate.facts debate.views "
        "engine.database engine.debates engine.queries http_server mcp models.local redaction settings "
        "startup"
    ),
    "__main__": "cli.main mcp",
    "counterpoint": "__main__ debate.facts evaluation models settings",
}
"""What of ours each room imports, from the bottom up. A room imports only such as stand above it here."""

LIBRARIES: dict[str, str] = {
    "access": "anyio httpx2 jwt mcp pydantic starlette",
    "debate.facts": "pydantic",
    "debate.ballots": "pydantic",
    "storage": "anyio rfc8785",
    "storage.postgres.connections": "anyio asyncpg",
    "storage.postgres": "anyio",
    "storage.sqlite.connections": "aiosqlite anyio",
    "storage.sqlite": "aiosqlite anyio",
    "debate.schemas": "jsonschema_rs",
    "redaction": "pydantic",
    "settings": "platformdirs pydantic",
    "signing": "cryptography platformdirs",
    "debate.prompts": "pydantic",
    "debate.replies": "pydantic",
    "research": "anyio httpx2 mcp pydantic pypdf",
    "debate.records": "pydantic",
    "debate.analysis": "pydantic",
    "debate.views": "pydantic",
    "models": "anyio",
    "models.embeddings": "anyio",
    "models.fakes": "anyio",
    "models.own": "anyio",
    "models.concurrency": "anyio",
    "models.resilience": "anyio",
    "models.local": "anyio platformdirs xllamacpp",
    "models.providers": "aiohttp anyio httpx2 keyring litellm platformdirs",
    "models.model_servers": "anyio",
    "models.windows": "anyio",
    "engine.database": "anyio pydantic",
    "engine.model_calls": "anyio pydantic_core rfc8785",
    "engine.runner": "anyio",
    "engine.mirrors": "anyio",
    "engine.driver": "anyio",
    "engine.debates": "anyio",
    "engine.receipts": "anyio",
    "engine.setups": "anyio",
    "engine.queries": "pydantic",
    "engine.recovery": "anyio",
    "engine.transfer": "pydantic",
    "upkeep": "anyio",
    "evaluation": "anyio",
    "hooks": "anyio httpx2 pydantic yaml",
    "web.site": "anyio pydantic starlette uvicorn",
    "http_server": "anyio mcp sse_starlette starlette uvicorn",
    "mcp": "anyio mcp pydantic",
    "telemetry": "anyio mcp opentelemetry prometheus_client pydantic",
    "cli.terminal": "rich",
    "cli.completion": "anyio click",
    "cli.defaults": "click",
    "cli.session": "anyio click",
    "cli.live": "anyio click rich",
    "cli.runs": "click",
    "cli.debates": "anyio click pydantic rich",
    "cli.installation": "anyio click",
    "cli.main": "anyio click",
    "client_configs": "anyio mcp platformdirs ruamel tomlkit yaml",
    "counterpoint": "inspect_ai",
    "tools.asking": "anyio mcp pydantic",
    "tools.debates": "anyio mcp pydantic",
    "tools.fitting": "pydantic",
    "tools.listing": "mcp pydantic",
    "tools.results": "mcp pydantic",
    "tools.schemas": "mcp",
    "tools.tool": "mcp pydantic",
    "debate.commands.input_types": "pydantic",
    "debate.commands.interventions": "pydantic",
    "debate.commands.requests": "pydantic",
}
"""The libraries of each room; a room that is not here has none."""
