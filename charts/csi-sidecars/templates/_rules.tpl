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
{{- if ne (get (.values.resizer.featureGates | default dict) "VolumeAttributesClass" | toString) "false" }}
- apiGroups: [storage.k8s.io]
  resources: [volumeattributesclasses]
  verbs: [get, list, watch]
{{- end }}
{{- end }}

{{- define "csi-sidecars.provisionerRules" -}}
- apiGroups: [""]
  resources: [persistentvolumes]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [get, list, watch, update]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [storage.k8s.io]
  resources: [storageclasses]
  verbs: [get, list, watch]
- apiGroups: [storage.k8s.io]
  resources: [volumeattachments]
  verbs: [get, list, watch]
{{- /* On each node the driver itself says the topology. */}}
{{- $topology := ne (get (.values.provisioner.featureGates | default dict) "Topology" | toString) "false" }}
{{- if and (not .values.provisioner.nodeDeployment.enabled) (or $topology .values.provisioner.capacity.enabled) }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch]
- apiGroups: [storage.k8s.io]
  resources: [csinodes]
  verbs: [get, list, watch]
{{- end }}
{{- /* For claims whose selected node has no driver. */}}
{{- if and .values.provisioner.nodeDeployment.enabled .values.provisioner.finalizeClaims }}
- apiGroups: [""]
  resources: [nodes]
  verbs: [get]
- apiGroups: [storage.k8s.io]
  resources: [csinodes]
  verbs: [get]
{{- end }}
{{- if ne (get (.values.provisioner.featureGates | default dict) "VolumeAttributesClass" | toString) "false" }}
- apiGroups: [storage.k8s.io]
  resources: [volumeattributesclasses]
  verbs: [get]
{{- end }}
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshots]
  verbs: [get, list, watch, update]
- apiGroups: [snapshot.storage.k8s.io]
  resources: [volumesnapshotcontents]
  verbs: [get, list]
{{- end }}

{{/* In the namespace of the release, for CSIStorageCapacity objects and their owner. */}}
{{- define "csi-sidecars.capacityRules" -}}
- apiGroups: [storage.k8s.io]
  resources: [csistoragecapacities]
  verbs: [get, list, watch, create, update, delete]
{{- $level := include "csi-sidecars.ownerLevel" . | int }}
{{- if ge $level 0 }}
- apiGroups: [""]
  resources: [pods]
  verbs: [get]
{{- end }}
{{- if ge $level 2 }}
- apiGroups: [apps]
  resources: [replicasets]
  verbs: [get]
{{- end }}
{{- end }}

{{- define "csi-sidecars.snapshotterRules" -}}
{{- $kinds := list (list "snapshot.storage.k8s.io" "volumesnapshot") -}}
{{- if ne (get (.values.snapshotter.featureGates | default dict) "CSIVolumeGroupSnapshot" | toString) "false" }}{{ $kinds = append $kinds (list "groupsnapshot.storage.k8s.io" "volumegroupsnapshot") }}{{ end -}}
{{- range $kinds }}
- apiGroups: [{{ first . }}]
  resources: [{{ last . }}contents]
  verbs: [get, list, watch, patch]
- apiGroups: [{{ first . }}]
  resources: [{{ last . }}contents/status]
  verbs: [patch]
- apiGroups: [{{ first . }}]
  resources: [{{ last . }}classes]
  verbs: [list, watch]
{{- if $.values.snapshotter.parameterTemplates }}
- apiGroups: [{{ first . }}]
  resources: [{{ last . }}s]
  verbs: [get]
{{- end }}
{{- end }}
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
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
