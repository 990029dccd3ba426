# Makes the database of a trial and its users: the owner, who is no superuser, for whom the walls
# between organisations would not hold, and one for each role of the product's processes.
# The image's entry point runs it once, for an empty folder of data.
set -eu
password() { cat "${SLUICE_PASSWORDS:-/etc/sluice}/password-$1"; }
psql -v ON_ERROR_STOP=1 --username postgres --dbname postgres \
    -v owner="$(password owner)" -v web="$(password web)" \
    -v worker="$(password worker)" -v ingest="$(password ingest)" <<'SQL'
CREATE ROLE sluice LOGIN PASSWORD :'owner';
CREATE ROLE sluice_web LOGIN PASSWORD :'web';
CREATE ROLE sluice_worker LOGIN PASSWORD :'worker';
CREATE ROLE sluice_ingest LOGIN PASSWORD :'ingest';
CREATE DATABASE sluice OWNER sluice ENCODING 'UTF8' TEMPLATE template0;
\connect sluice
-- Only a superuser may add it.
SELECT 'CREATE EXTENSION timescaledb'
FROM pg_available_extensions WHERE name = 'timescaledb'
    AND current_setting('shared_preload_libraries') ~ '\ytimescaledb\y' \gexec
SQL
