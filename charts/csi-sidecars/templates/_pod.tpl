{{/*
The pod template of a workload. `driver` holds the driver's containers, initContainers and volumes, templated already.
*/}}
{{- define "csi-sidecars.podTemplate" -}}
{{- $controller := .values.controller -}}
metadata:
  labels:
    {{- toYaml (merge (include "csi-sidecars.selectorLabels" . | fromYaml) ($controller.podLabels | default dict) (.values.commonLabels | default dict)) | nindent 4 }}
  {{- with merge (dict) ($controller.podAnnotations | default dict) (.values.commonAnnotations | default dict) }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- $spec := include "csi-sidecars.podSpec" . }}
{{- with $controller.podSpec }}
{{- $fields := fromYaml $spec }}
{{- range $field, $value := . }}{{ $_ := set $fields $field $value }}{{ end }}
{{- $spec = toYaml $fields }}
{{- end }}
spec:
  {{- $spec | nindent 2 }}
{{- end }}

{{/*
How new pods replace old ones by default. `helm --wait` waits for a single pod only if none may be unavailable. Two pods
of one node cannot share a socket or ports of the node, so there the old pod ends first.
*/}}
{{- define "csi-sidecars.updateStrategy" -}}
{{- $controller := .values.controller -}}
{{- if or (ne $controller.kind "Deployment") (gt (int $controller.replicaCount) 1) -}}
rollingUpdate: {maxUnavailable: 1}
{{- else if or (include "csi-sidecars.ownsHostSocket" .) (include "csi-sidecars.hostNetwork" .) (include "csi-sidecars.onOwnNodes" .) -}}
type: Recreate
{{- else -}}
rollingUpdate: {maxUnavailable: 0}
{{- end -}}
{{- end }}

{{/* The same without what controller.podSpec says. */}}
{{- define "csi-sidecars.podSpec" -}}
{{- $controller := .values.controller -}}
{{- $selector := include "csi-sidecars.selectorLabels" . -}}
serviceAccountName: {{ include "csi-sidecars.serviceAccountName" . | quote }}
automountServiceAccountToken: {{ .values.serviceAccount.automountServiceAccountToken }}
{{- with include "csi-sidecars.imagePullSecrets" . }}
imagePullSecrets:
  {{- . | nindent 2 }}
{{- end }}
{{- with $controller.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- if $controller.hostNetwork }}
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
terminationGracePeriodSeconds: {{ int $controller.terminationGracePeriodSeconds }}
{{- with $controller.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $controller.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $controller.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $controller.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $controller.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  {{- if not (hasKey . "labelSelector") }}
  {{- $own := dict "labelSelector" (dict "matchLabels" (fromYaml $selector)) }}
  - {{ toYaml (merge $own .) | nindent 4 | trim }}
  {{- else }}
  - {{ toYaml . | nindent 4 | trim }}
  {{- end }}
  {{- end }}
{{- end }}
{{- with .driver.initContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  {{- with .driver.containers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- range .workload.apps }}
  - {{ include "csi-sidecars.container" (dict "values" $.values "release" $.release "chart" $.chart "app" . "containers" $.driver.containers) | nindent 4 | trim }}
  {{- end }}
volumes:
  {{- include "csi-sidecars.volumes" . | nindent 2 }}
  {{- with .driver.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
