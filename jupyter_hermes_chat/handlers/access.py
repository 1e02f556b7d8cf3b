"""Who a request is: Jupyter's own identities, and the token of the server file that kernels read (design §7, R64).

The token is compared in constant time and counts on our routes only. A request that bears it is the server's own user, and
goes through Jupyter's usual checks with an identity provider of ours, so that host, origin and XSRF rules stay Jupyter's.
"""

from __future__ import annotations

import secrets

from jupyter_server.auth import IdentityProvider, PasswordIdentityProvider, User
from tornado.web import RequestHandler

_ANONYMOUS = (IdentityProvider, PasswordIdentityProvider)
"""These know *that* somebody may enter, not *who*: they invent a name per browser, so everybody is the server's own user."""


class ServerFileIdentity(IdentityProvider):
    """Identity of a request whose token was checked already: the server's own user, by token, so without XSRF."""

    owner: str = ""

    def get_user(self, handler: RequestHandler) -> User:
        handler._token_authenticated = True  # type: ignore[attr-defined]
        return User(username=self.owner)

    def is_token_authenticated(self, handler: RequestHandler) -> bool:
        return True


class Access:
    """*owner* is whose sessions the server's own user sees; *token* is what the server file holds."""

    def __init__(self, owner: str, token: str | None = None) -> None:
        self.owner = owner
        self.token = token or secrets.token_urlsafe(32)
        self.identity = ServerFileIdentity()
        self.identity.owner = owner

    def bears_token(self, handler: RequestHandler) -> bool:
        scheme, _, given = handler.request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), self.token.encode())

    def owner_of(self, provider: IdentityProvider, user: User) -> str:
        """Whose rows *user*, known by *provider*, may see."""
        return self.owner if provider is self.identity or type(provider) in _ANONYMOUS else str(user.username)
