{{/* Where pods may connect to. */}}

{{/* Names, the database and the queue. */}}
{{- define "sluice.toServers" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- range $kind := list "database" "queue" }}
{{- $values := index $.Values $kind }}
- ports:
    - {port: {{ $values.trial.enabled | ternary (eq $kind "database" | ternary 5432 6379) $values.port }}, protocol: TCP}
    {{- if and (not $values.trial.enabled) $values.sentinelPort }}
    - {port: {{ $values.sentinelPort }}, protocol: TCP}
    {{- end }}
  {{- if $values.trial.enabled }}
  to:
    - podSelector:
        matchLabels: {{- include "sluice.selector" (list $ $kind) | nindent 10 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Everywhere but where nothing of ours is. */}}
{{- define "sluice.toWorld" -}}
- to:
    {{- range $all := list "0.0.0.0/0" "::/0" }}
    - ipBlock:
        cidr: {{ $all | quote }}
        {{- $never := list }}
        {{- range $.Values.networkPolicy.neverTo }}
        {{- if eq (contains ":" .) (contains ":" $all) }}{{ $never = append $never . }}{{ end }}
        {{- end }}
        {{- with $never }}
        except: {{- toYaml . | nindent 10 }}
        {{- end }}
    {{- end }}
{{- end }}

{{- define "sluice.workerComponents" -}}
{{- $components := list "console" -}}
{{- range $queue := keys .Values.workers | sortAlpha -}}
{{- $components = append $components (printf "worker-%s" $queue) -}}
{{- end -}}
{{ join ", " $components }}
{{- end }}
