{{/* What all pods of the server have. */}}

{{/* The head of a pod's template: (list $ "web"). */}}
{{- define "sluice.podMetadata" -}}
{{- $pods := (index . 0).Values.pods -}}
labels:
  {{- include "sluice.labels" . | nindent 2 }}
  {{- with $pods.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $pods.annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The fields of a pod beside its containers and volumes. */}}
{{- define "sluice.podSpec" -}}
serviceAccountName: {{ .Values.pods.serviceAccountName }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.pods.uid }}
  runAsGroup: {{ .Values.pods.uid }}
  fsGroup: {{ .Values.pods.uid }}
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.placement }}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Pods of one component on several nodes, if there are several: (list $ "web"). */}}
{{- define "sluice.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "sluice.selector" . | nindent 8 }}
{{- end }}

{{- define "sluice.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* A program of the server's image: (list $ "web" "appliance.web_server"). */}}
{{- define "sluice.program" -}}
{{- $root := index . 0 -}}
name: {{ index . 1 }}
image: {{ include "sluice.image" $root | quote }}
imagePullPolicy: {{ $root.Values.image.pullPolicy }}
{{ include "sluice.containerSecurity" $root }}
command: [{{ $root.Values.image.python | quote }}, -m, {{ index . 2 }}]
{{- end }}

{{/* Folders that may be written, and the secrets. */}}
{{- define "sluice.mounts" -}}
- {name: secrets, mountPath: /etc/sluice, readOnly: true}
- {name: data, mountPath: /var/lib/sluice}
- {name: scratch, mountPath: /tmp}
{{- end }}

{{/* Their volumes: (list $ "web"). */}}
{{- define "sluice.volumes" -}}
- {{ include "sluice.secretsVolume" . | nindent 2 | trim }}
- name: data
  emptyDir: {sizeLimit: 64Mi}
- name: scratch
  emptyDir: {sizeLimit: 2Gi}
{{- end }}
