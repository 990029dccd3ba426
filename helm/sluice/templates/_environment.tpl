{{/* Settings and secrets of the server's processes. */}}

{{/* The environment of a role in the database: (list $ "web"). What `settings` says wins. */}}
{{- define "sluice.environment" -}}
{{- $settings := (index . 0).Values.settings -}}
{{- range fromYamlArray (include "sluice.ownEnvironment" .) }}
{{- if not (hasKey $settings .name) }}
- {{ toJson . }}
{{- end }}
{{- end }}
{{- range $name, $value := $settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* By the other values. The scheduler has neither database nor keys: it queues and does no work. */}}
{{- define "sluice.ownEnvironment" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := $root.Values -}}
- {name: DJANGO_SETTINGS_MODULE, value: config.settings}
- {name: PYTHONUNBUFFERED, value: "1"}
- {name: PYTHONDONTWRITEBYTECODE, value: "1"}
- {name: SLUICE_DATA_DIR, value: /var/lib/sluice}
- {name: SLUICE_DATABASE_ROLE, value: {{ eq $role "scheduler" | ternary "worker" $role }}}
{{- if eq $role "owner" }}
- {name: DATABASE_URL_FILE, value: /etc/sluice/database-owner}
{{- range list "web" "worker" "ingest" }}
- {name: DATABASE_URL_{{ upper . }}_FILE, value: /etc/sluice/database-{{ . }}}
{{- end }}
- {name: SLUICE_SIGNING_KEYS_FILE, value: /etc/sluice/signing-keys}
{{- else if ne $role "scheduler" }}
- {name: DATABASE_URL_{{ upper $role }}_FILE, value: /etc/sluice/database-{{ $role }}}
# The disk of the database is not seen from here.
- {name: SLUICE_LEAST_FREE_BYTES, value: "0"}
{{- end }}
- {name: REDIS_URL_FILE, value: /etc/sluice/queue}
{{- if not (has $role (list "ingest" "scheduler")) }}
- {name: SLUICE_SECRET_KEY_FILE, value: /etc/sluice/secret-key}
- {name: SLUICE_ENCRYPTION_KEYS_FILE, value: /etc/sluice/encryption-keys}
{{- range $name := keys $values.secretSettings | sortAlpha }}
- {name: {{ $name }}_FILE, value: /etc/sluice/{{ $name }}}
{{- end }}
{{- end }}
- {name: SLUICE_URL, value: {{ $values.server.url | quote }}}
{{- if and $values.clusterReader.enabled (has $role (list "web" "worker" "owner")) }}
- {name: SLUICE_CLUSTER_ORGANISATIONS, value: {{ join "," $values.clusterReader.organisations | quote }}}
{{- end }}
{{- if has $role (list "web" "ingest") }}
- name: POD_ADDRESS
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: SLUICE_ALLOWED_HOSTS
  value: {{ include "sluice.answeredHosts" $root | quote }}
- {name: SLUICE_TRUSTED_ORIGINS, value: {{ $values.server.url | quote }}}
- {name: SLUICE_HTTPS_ONLY, value: {{ hasPrefix "https:" $values.server.url | ternary "1" "0" | quote }}}
{{- if $values.serviceMonitor.enabled }}
# Prometheus comes to the pod itself.
- {name: SLUICE_PLAIN_METRICS, value: "1"}
{{- end }}
{{- if $values.ingress.enabled }}
- {name: SLUICE_BEHIND_PROXY, value: "1"}
# All come through one proxy.
- {name: SLUICE_CONNECTIONS_PER_ADDRESS, value: "0"}
{{- end }}
{{- end }}
{{- if and (eq $role "web") $values.database.urls.replica }}
- {name: DATABASE_URL_REPLICA_FILE, value: /etc/sluice/database-replica}
{{- end }}
{{- if eq $role "web" }}
- {name: SLUICE_SIGNER, value: /run/sluice/signer.sock}
{{- end }}
{{- if has $role (list "worker" "scheduler") }}
# Django's checks of URLs import every page, which no worker needs.
- {name: CELERY_SKIP_CHECKS, value: "1"}
{{- end }}
{{- end }}

{{/* Probes say localhost; Prometheus says the pod's address, and agents in the cluster the Service. */}}
{{- define "sluice.answeredHosts" -}}
{{- $name := include "sluice.fullname" . -}}
{{- $hosts := list (include "sluice.host" .) -}}
{{- $hosts = concat $hosts .Values.server.otherHosts -}}
{{- range $service := list $name (printf "%s-ingest" $name) -}}
{{- $hosts = concat $hosts (list $service (printf "%s.%s" $service $.Release.Namespace) (printf "%s.%s.svc" $service $.Release.Namespace)) -}}
{{- end -}}
{{ concat $hosts (list "localhost" "$(POD_ADDRESS)") | uniq | join "," }}
{{- end }}

{{/* The volume of the files that the environment of a role names: (list $ "web"). */}}
{{- define "sluice.secretsVolume" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $roles := list $role -}}
{{- if eq $role "owner" }}{{ $roles = list "owner" "web" "worker" "ingest" }}{{ end -}}
{{- if eq $role "scheduler" }}{{ $roles = list }}{{ end -}}
{{- $values := $root.Values -}}
name: secrets
projected:
  defaultMode: 0440
  sources:
    {{- if $roles }}
    - secret:
        name: {{ include "sluice.databaseSecret" $root }}
        items:
          {{- range $roles }}
          - {key: {{ include "sluice.databaseKey" (list $root .) }}, path: database-{{ . }}}
          {{- end }}
          {{- if and (eq $role "web") $values.database.urls.replica }}
          - {key: {{ $values.database.urls.replica }}, path: database-replica}
          {{- end }}
    {{- end }}
    - secret:
        name: {{ include "sluice.queueSecret" $root }}
        items:
          - {key: {{ $values.queue.trial.enabled | ternary "url" $values.queue.url }}, path: queue}
    {{- if not (has $role (list "ingest" "scheduler")) }}
    - secret:
        name: {{ include "sluice.keysSecret" $root }}
        items:
          - {key: {{ $values.keys.secretKey }}, path: secret-key}
          - {key: {{ $values.keys.encryptionKeys }}, path: encryption-keys}
    {{- range $name, $from := $values.secretSettings }}
    - secret:
        name: {{ $from.secret }}
        items:
          - {key: {{ $from.key }}, path: {{ $name }}}
    {{- end }}
    {{- end }}
    {{- if eq $role "owner" }}
    - secret:
        name: {{ include "sluice.signingSecret" $root }}
        items:
          - {key: {{ $values.signing.signingKeys }}, path: signing-keys}
    {{- end }}
{{- end }}
