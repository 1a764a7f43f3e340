{{/* The cluster-wide rules of a sidecar, and no more than it uses. */}}
{{- define "csi-sidecars.rules" -}}
{{- include (printf "csi-sidecars.%sRules" .app) . -}}
{{- if .values.rbac.secrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- if .values.authorization.enabled }}
{{ include "csi-sidecars.reviewRules" . }}
{{- end }}
{{- with (get .values .app).additionalClusterRoleRules }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "csi-sidecars.attacherRules" -}}
- apiGroups: [""]
  resources: [persistentvolumes]
  verbs: [get, list, watch, patch]
- apiGroups: [storage.k8s.io]
  resources: [csinodes]
  verbs: [get, list, watch]
- apiGroups: [storage.k8s.io]
  resources: [volumeattachments]
  verbs: [get, list, watch, patch]
- apiGroups: [storage.k8s.io]
  resources: [volumeattachments/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}

{{- define "csi-sidecars.resizerRules" -}}
- apiGroups: [""]
  resources: [persistentvolumes]
  verbs: [get, list, watch, patch]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [persistentvolumeclaims/status]
  verbs: [patch]
{{- $pods := .values.rbac.pods }}
{{- /* Without a value the program's own default stays, which is on. */}}
{{- if eq (toString $pods) "auto" }}{{ $pods = ne (toString .values.resizer.handleVolumeInUseError) "false" }}{{ end }}
{{- if $pods }}
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch]
{{- end }}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- if .values.resizer.nodeDeployment }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
- apiGroups: [storage.k8s.io]
  resources: [csinodes]
  verbs: [get, list, watch]
{{- end }}
{{- if ne (get .values.resizer.featureGates "VolumeAttributesClass" | toString) "false" }}
- apiGroups: [storage.k8s.io]
  resources: [volumeattributesclasses]
  verbs: [get, list, watch]
{{- end }}
{{- end }}

{{/*
In the namespace of the Lease. `watch` lets a standby see at once that the lease is free. A creation has no name that
could be allowed; all else is for the Leases of these sidecars, where their names are known.
*/}}
{{- define "csi-sidecars.leaseRules" -}}
{{- $names := include "csi-sidecars.leaseNames" . | fromJsonArray -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [{{ ternary "create" "get, watch, create, update" (not (empty $names)) }}]
{{- if $names }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: {{ $names | toJson }}
  verbs: [get, watch, update]
{{- end }}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- end }}
