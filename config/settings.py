"""Django's settings, read from the environment; every default fits the embedded mode."""

from functools import cache
from typing import Any

import dj_database_url

from config import env
from config.check_in import check_in_url
from config.database_roles import DatabaseRole, database_urls
from config.database_timeouts import with_timeouts
from config.encryption_keys import encryption_keys
from config.log_format import log_configuration
from config.mail import mail_server
from config.move_command import move_command
from config.oidc import oidc_provider
from config.paths import data_dir
from config.queue_url import queue_url
from config.queues import queues_in_use
from config.replica import as_replica
from config.row_walls import seeing_all
from config.secret_key import secret_key
from config.signing_keys import signing_keys
from web.replica.alias import ALIAS

DATA_DIR = data_dir()

# --- What is installed

INSTALLED_APPS = [
    "appliance",
    "web",
    "advisor",
    "ingest",
    "accounts",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
]
MIDDLEWARE = [
    "ingest.middleware.KeepSamplesOfUnknownAddress",
    "django.middleware.security.SecurityMiddleware",
    # The size of a compressed page can leak a secret that stands beside reflected text (BREACH):
    # docs/architecture.md says why nothing leaks here.
    "django.middleware.gzip.GZipMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "web.idle_sessions.IdleSessionMiddleware",
    "web.middleware.AddressMiddleware",
    "web.middleware.RowWallMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "web.middleware.ContentSecurityPolicyMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "web.switches.switches",
            ],
        },
    },
]

# --- Database and broker

# Each process connects as its role; without an address of its own, as the owner.
DATABASE_ROLE = DatabaseRole(env.choice("SLUICE_DATABASE_ROLE", "owner", list(DatabaseRole)))
DATABASE_URLS = database_urls(
    DATA_DIR.sockets,
    owner=env.secret("DATABASE_URL"),
    ingest=env.secret("DATABASE_URL_INGEST"),
    worker=env.secret("DATABASE_URL_WORKER"),
    web=env.secret("DATABASE_URL_WEB"),
)
# Longer statements and waits for locks are ended, except in `sluice migrate` (0: never).
STATEMENT_TIMEOUT_S = env.integer("SLUICE_STATEMENT_TIMEOUT_S", 30)
LOCK_TIMEOUT_S = env.integer("SLUICE_LOCK_TIMEOUT_S", 10)


def _database(url: str) -> dict[str, Any]:
    found = dj_database_url.parse(
        url, engine="django.db.backends.postgresql", conn_max_age=60, conn_health_checks=True
    )
    return with_timeouts(found, statement_s=STATEMENT_TIMEOUT_S, lock_s=LOCK_TIMEOUT_S)


DATABASES = {"default": seeing_all(_database(DATABASE_URLS[DATABASE_ROLE]))}
# What answers a person, or a program of one organisation, sees the rows of that alone.
HAS_ROW_WALLS = DATABASE_ROLE == DatabaseRole.WEB
# What a person reads is read there, while it is no further behind (docs/decisions/0085).
DATABASE_URL_REPLICA = env.secret("DATABASE_URL_REPLICA") if HAS_ROW_WALLS else None
HAS_REPLICA = DATABASE_URL_REPLICA is not None
REPLICA_MOST_LAG_S = env.integer("SLUICE_REPLICA_MOST_LAG_S", 5, minimum=1)
if DATABASE_URL_REPLICA is not None:
    DATABASES[ALIAS] = as_replica(_database(DATABASE_URL_REPLICA))
    MIDDLEWARE.append("web.replica.middleware.ReplicaMiddleware")
REDIS_URL = queue_url(env.secret("REDIS_URL")) or DATA_DIR.valkey_url

# --- Samples

SAMPLE_RETENTION_DAYS = env.integer("SLUICE_SAMPLE_RETENTION_DAYS", 30, minimum=1)
# An open hour needs the two before it.
SAMPLE_ROWS_HOURS = env.integer("SLUICE_SAMPLE_ROWS_HOURS", 6, minimum=3)
HISTORY_EXACT_DAYS = env.integer("SLUICE_HISTORY_EXACT_DAYS", 30, minimum=1)
HISTORY_QUARTER_DAYS = env.integer("SLUICE_HISTORY_QUARTER_DAYS", 366, minimum=1)
HISTORY_DAY_DAYS = env.integer("SLUICE_HISTORY_DAY_DAYS", 5 * 366, minimum=1)

# --- Quotas of an organisation that has none of its own (0: no quota)

QUOTAS = {
    "points_per_s": env.integer("SLUICE_QUOTA_POINTS_PER_S", 0),
    "bytes_per_s": env.integer("SLUICE_QUOTA_BYTES_PER_S", 0),
    "series": env.integer("SLUICE_QUOTA_SERIES", 0),
    "hosts": env.integer("SLUICE_QUOTA_HOSTS", 0),
}

# --- Requests

DEBUG = env.boolean("SLUICE_DEBUG", default=False)
SECRET_KEY = secret_key(DATA_DIR.secret_key)
# Asked for when the first secret is sealed or opened (docs/decisions/0065).
# Who answers requests has no key of hosts: the signer has, on a socket (docs/decisions/0064).
SIGNER_SOCKET = (
    None
    if DATABASE_ROLE == DatabaseRole.OWNER
    else env.text("SLUICE_SIGNER", str(DATA_DIR.signer_socket))
)
SIGNING_KEYS = cache(lambda: signing_keys(DATA_DIR.signing_keys))
ENCRYPTION_KEYS = cache(lambda: encryption_keys(DATA_DIR.encryption_keys))
ALLOWED_HOSTS = env.words("SLUICE_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("SLUICE_TRUSTED_ORIGINS", "")
# A larger body is answered 413, which makes Telegraf split its batch (ingest/chunked_body.py).
# A database elsewhere has a disk that is not seen from here.
LEAST_FREE_BYTES = (
    0 if env.secret("DATABASE_URL") else env.integer("SLUICE_LEAST_FREE_BYTES", 512 * 1024 * 1024)
)
# Where full backups and the write-ahead log go; empty: nowhere. A server of DATABASE_URL has
# backups of its own (docs/backup.md).
BACKUP_TARGET = "" if env.secret("DATABASE_URL") else env.text("SLUICE_BACKUP_TARGET", "")
BACKUP_EVERY_HOURS = env.integer("SLUICE_BACKUP_EVERY_HOURS", 24)
BACKUP_KEEP = env.integer("SLUICE_BACKUP_KEEP", 7, minimum=1)
MAX_BODY_BYTES = env.integer("SLUICE_MAX_BODY_BYTES", 32 * 1024 * 1024, minimum=1024)
MAX_UPLOAD_BYTES = env.integer("SLUICE_MAX_UPLOAD_BYTES", 256 * 1024 * 1024, minimum=1024)
API_REQUESTS_PER_MINUTE = env.integer("SLUICE_API_REQUESTS_PER_MINUTE", 600, minimum=1)
# With it `sluice udp` receives for the organisation of this token.
UDP_TOKEN = env.secret("SLUICE_UDP_TOKEN")
# Django's own answer to a large body is 400, which makes Telegraf drop it; ours comes first.
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES + 1

# --- Security

# The words of a command, never read by a shell; empty: a person moves workloads.
MOVE_COMMAND = move_command(env.text("SLUICE_MOVE_COMMAND", ""))
WORK_QUEUES = queues_in_use(moves=bool(MOVE_COMMAND))
MOVE_ORGANISATIONS = env.words("SLUICE_MOVE_ORGANISATIONS", "")
TLS_CERTIFICATE = env.text("SLUICE_TLS_CERTIFICATE", "")
HTTPS_ONLY = env.boolean("SLUICE_HTTPS_ONLY", default=bool(TLS_CERTIFICATE))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
SECURE_SSL_REDIRECT = HTTPS_ONLY
# Probes come from the machine itself, and a redirect would count as an answer.
SECURE_REDIRECT_EXEMPT = [r"^health(/(live|ready|evaluation))?$", r"^ping$"]
if env.boolean("SLUICE_PLAIN_METRICS", default=False):
    SECURE_REDIRECT_EXEMPT.append(r"^metrics$")
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS_ONLY else 0
HSTS_SUBDOMAINS = env.boolean("SLUICE_HSTS_SUBDOMAINS", default=False)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = HTTPS_ONLY and HSTS_SUBDOMAINS
# Whether names below this server's name speak HTTPS is known to its operator alone.
SILENCED_SYSTEM_CHECKS = [] if HSTS_SUBDOMAINS else ["security.W005", "security.W021"]
BEHIND_PROXY = env.boolean("SLUICE_BEHIND_PROXY", default=False)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
CSRF_FAILURE_VIEW = "web.views.errors.csrf_failure"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"

# --- Logins (docs/decisions/0040)

AUTHENTICATION_BACKENDS = ["web.session_backend.PersonBackend"]
SIGN_UP_OPEN = env.boolean("SLUICE_SIGN_UP", default=False)
NEW_ORGANISATIONS_OPEN = env.boolean("SLUICE_NEW_ORGANISATIONS", default=False)
ACCOUNT_ADAPTER = "web.account_adapter.AccountAdapter"
# The company's login, by OpenID Connect (docs/decisions/0044); None: there is none.
OIDC = oidc_provider()
SOCIALACCOUNT_ADAPTER = "web.social_adapter.SocialAdapter"
SOCIALACCOUNT_EMAIL_REQUIRED = False
# Who finds a browser open connects no login of theirs.
SOCIALACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_FORMS = {"login": "web.sign_in_form.SignInForm"}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
ACCOUNT_LOGOUT_REDIRECT_URL = LOGIN_URL
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Sluice] "
ACCOUNT_SESSION_REMEMBER = True
# A session ends after so many hours in which its person opened nothing; 0: none does.
SESSION_IDLE_HOURS = env.integer("SLUICE_SESSION_IDLE_HOURS", 24)
MFA_ADAPTER = "web.mfa_adapter.SealingMfaAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Sluice"
# Clocks of telephones are off: one code before and one after counts too (RFC 6238, section 5.2).
MFA_TOTP_TOLERANCE = 1
# Where no mail is sent no address can be verified.
MFA_ALLOW_UNVERIFIED_EMAIL = True
# Counted by all web servers together: wrong passwords for one name from one
# address, and all wrong ones from one address.
ACCOUNT_RATE_LIMITS = {"login_failed": "20/5m/ip,5/5m/key"}
CACHES = {
    "default": {"BACKEND": "config.cache.ProcessCache"},
    "together": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        # A list, for Django would part an address with commas.
        "LOCATION": [REDIS_URL],
        "KEY_PREFIX": "sluice-cache",
        "OPTIONS": {
            "serializer": "config.cache.JsonSerializer",
            "pool_class": "config.cache.QueuePool",
        },
    },
}

# --- Mail

MAIL = mail_server(env.secret("SLUICE_MAIL_URL"))
HAS_MAIL = MAIL is not None
# Without an address mail is refused, so nothing pretends to have sent one.
ACCOUNT_EMAIL_VERIFICATION = "optional" if HAS_MAIL else "none"
if MAIL is not None:
    EMAIL_HOST, EMAIL_PORT = MAIL.host, MAIL.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = MAIL.user, MAIL.password
    EMAIL_USE_SSL, EMAIL_USE_TLS = MAIL.tls_at_once, MAIL.tls_after_greeting
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("SLUICE_MAIL_FROM", "sluice@localhost")

# --- Notifications

# Where people reach the pages, for links in messages; without it they have none.
PUBLIC_URL = env.text("SLUICE_URL", "").rstrip("/")
NOTIFY_INSIDE = env.boolean("SLUICE_NOTIFY_INSIDE", default=False)

# --- Who watches from outside

CHECK_IN_URL = check_in_url(env.secret("SLUICE_CHECK_IN_URL"))

# --- Sources that Sluice reads by itself

# Which addresses it connects to; empty: by how many organisations there are.
SOURCE_ADDRESSES = env.choice("SLUICE_SOURCE_ADDRESSES", "", ("", "public", "private", "any"))
# Who may have the server's own Kubernetes cluster read by the account of its pods.
CLUSTER_ORGANISATIONS = env.words("SLUICE_CLUSTER_ORGANISATIONS", "")

# --- Words, time, static files

LANGUAGE_CODE = "en-gb"
USE_I18N = False
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
# Files are served from the apps themselves: there is no step that collects them.
WHITENOISE_USE_FINDERS = True

# --- Logs

LOGGING = log_configuration()
