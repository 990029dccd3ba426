{{/* What the database and the queue of a trial have in common. */}}

{{/* Fields of a pod: (list $ uid). */}}
{{- define "sluice.trialPodSpec" -}}
{{- $spec := fromYaml (include "sluice.podSpec" (index . 0)) -}}
{{- $uid := index . 1 -}}
{{- $_ := set $spec "securityContext" (mergeOverwrite $spec.securityContext (dict "runAsUser" $uid "runAsGroup" $uid "fsGroup" $uid)) -}}
{{- toYaml $spec }}
{{- end }}

{{/* The claim of its disk. */}}
{{- define "sluice.trialVolume" -}}
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  {{- with .storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests: {storage: {{ .size }}}
{{- end }}
