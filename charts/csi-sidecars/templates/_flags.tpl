{{/*
Made from the flags of the sidecars: npm exec -- node tools/docs/main.ts

Each template takes a dict: `section` is the part of the values, `prefix` is put before the names. _args.tpl says when.
*/}}

{{- define "csi-sidecars.flags.attacher" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "default-fstype" "value" .section.defaultFsType) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "max-entries" "value" .section.maxEntries) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "max-grpc-log-length" "value" .section.maxGrpcLogLength) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "max-inflight-per-node" "value" .section.maxInflightPerNode) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "reconcile-confirmations" "value" .section.reconcileConfirmations) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "reconcile-sync" "value" .section.reconcileSync) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "recover-lost-volumes" "value" .section.recoverLostVolumes) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "resync" "value" .section.resync) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "timeout" "value" .section.timeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "worker-threads" "value" .section.workerThreads) -}}
{{- end }}

{{- define "csi-sidecars.flags.resizer" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "extra-modify-metadata" "value" .section.extraModifyMetadata) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "handle-volume-inuse-error" "value" .section.handleVolumeInUseError) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "master" "value" .section.master) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "modify-timeout" "value" .section.modifyTimeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "node-deployment" "value" .section.nodeDeployment) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "resize-timeout" "value" .section.resizeTimeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "resync-period" "value" .section.resyncPeriod) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "timeout" "value" .section.timeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "workers" "value" .section.workers) -}}
{{- end }}

{{- define "csi-sidecars.flags.provisioner" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "capacity-for-immediate-binding" "value" .section.capacity.immediateBinding) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "capacity-poll-interval" "value" .section.capacity.pollInterval) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "capacity-threads" "value" .section.capacity.threads) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "cloning-protection-threads" "value" .section.cloningProtectionThreads) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "controller-publish-readonly" "value" .section.controllerPublishReadOnly) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "default-fstype" "value" .section.defaultFSType) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "enable-capacity" "value" .section.capacity.enabled) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "extra-create-metadata" "value" .section.extraCreateMetadata) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "finalize-claims" "value" .section.finalizeClaims) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "immediate-topology" "value" .section.immediateTopology) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "kube-api-capacity-burst" "value" .section.capacity.burst) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "kube-api-capacity-qps" "value" .section.capacity.qps) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "master" "value" .section.master) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "parameter-templates" "value" .section.parameterTemplates) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "prevent-volume-mode-conversion" "value" .section.preventVolumeModeConversion) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "node-deployment" "value" .section.nodeDeployment.enabled) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "node-deployment-base-delay" "value" .section.nodeDeployment.baseDelay) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "node-deployment-immediate-binding" "value" .section.nodeDeployment.immediateBinding) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "node-deployment-max-delay" "value" .section.nodeDeployment.maxDelay) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "node-deployment-reschedule-after" "value" .section.nodeDeployment.rescheduleAfter) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "snapshot-orphan-sweep-interval" "value" .section.snapshotOrphanSweepInterval) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "strict-topology" "value" .section.strictTopology) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "timeout" "value" .section.timeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "unreferenced-check-interval" "value" .section.unreferenced.checkInterval) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "unreferenced-handle-filter" "value" .section.unreferenced.handleFilter) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "volume-name-prefix" "value" .section.volumeNamePrefix) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "volume-name-uuid-length" "value" .section.volumeNameUUIDLength) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "worker-threads" "value" .section.workerThreads) -}}
{{- end }}

{{- define "csi-sidecars.flags.snapshotter" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "extra-create-metadata" "value" .section.extraCreateMetadata) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "groupsnapshot-name-prefix" "value" .section.groupSnapshotNamePrefix) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "groupsnapshot-name-uuid-length" "value" .section.groupSnapshotNameUuidLength) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "node-deployment" "value" .section.nodeDeployment) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "parameter-templates" "value" .section.parameterTemplates) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "resync-period" "value" .section.resyncPeriod) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "snapshot-name-prefix" "value" .section.snapshotNamePrefix) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "snapshot-name-uuid-length" "value" .section.snapshotNameUuidLength) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "timeout" "value" .section.timeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "unreferenced-check-interval" "value" .section.unreferenced.checkInterval) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "unreferenced-handle-filter" "value" .section.unreferenced.handleFilter) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "worker-threads" "value" .section.workerThreads) -}}
{{- end }}

{{- define "csi-sidecars.flags.each" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "feature-gates" "value" (include "csi-sidecars.pairs" (dict "map" .section.featureGates "between" "="))) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "retry-interval-max" "value" .section.retryIntervalMax) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "retry-interval-start" "value" .section.retryIntervalStart) -}}
{{- end }}

{{- define "csi-sidecars.flags.process" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "drain-timeout" "value" .section.drainTimeout) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "driver-grace-period" "value" .section.driverGracePeriod) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "kube-api-burst" "value" .section.kubeAPIBurst) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "kube-api-qps" "value" .section.kubeAPIQPS) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "on-driver-loss" "value" .section.onDriverLoss) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "on-lease-loss" "value" .section.onLeaseLoss) -}}
{{- end }}

{{- define "csi-sidecars.flags.leaderElection" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "leader-election" "value" .section.enabled) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "leader-election-labels" "value" (include "csi-sidecars.pairs" (dict "map" .section.labels "between" ":"))) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "leader-election-lease-duration" "value" .section.leaseDuration) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "leader-election-namespace" "value" .section.namespace) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "leader-election-renew-deadline" "value" .section.renewDeadline) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "leader-election-retry-period" "value" .section.retryPeriod) -}}
{{- end }}

{{- define "csi-sidecars.flags.logging" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "log-backlog-interval" "value" .section.backlogInterval) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "logging-format" "value" .section.format) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "vmodule" "value" .section.vmodule) -}}
{{- end }}

{{- define "csi-sidecars.flags.metrics" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "metrics-path" "value" .section.path) -}}
{{- end }}

{{- define "csi-sidecars.flags.authorization" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "authorization-always-allow-paths" "value" (join "," .section.alwaysAllowPaths)) -}}
{{- end }}

{{- define "csi-sidecars.flags.tls" -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "tls-cipher-suites" "value" (join "," .section.cipherSuites)) -}}
{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "tls-min-version" "value" .section.minVersion) -}}
{{- end }}

{{- define "csi-sidecars.gates.attacher" -}}
{
  "own": [
    "MutableCSINodeAllocatableCount",
    "ReleaseLeaderElectionOnExit"
  ],
  "others": [
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerWebhookAuthenticationToken",
    "APIServingWithRoutine",
    "AggregatedDiscoveryRemoveBetaType",
    "AllAlpha",
    "AllBeta",
    "AllowParsingUserUIDFromCertAuth",
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConcurrentWatchObjectDecode",
    "ConsistentListFromCacheSkipTimeoutFallback",
    "ConstrainedImpersonation",
    "CoordinatedLeaderElection",
    "DeclarativeValidation",
    "DeclarativeValidationBeta",
    "DeclarativeValidationTakeover",
    "DetectCacheInconsistency",
    "EtcdRangeStream",
    "ExcludeAdmissionWebhookVirtualResources",
    "KMSv1",
    "ListFromCacheSnapshot",
    "ManifestBasedAdmissionControlConfig",
    "MutatingAdmissionPolicy",
    "NativeHistograms",
    "OpenAPIEnums",
    "RemoteRequestHeaderUID",
    "SeparateCacheWatchRPC",
    "ShardedListAndWatch",
    "SizeBasedListCostEstimate",
    "StorageVersionAPI",
    "StorageVersionHash",
    "StructuredAuthenticationConfigurationEgressSelector",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "TokenRequestServiceAccountUIDValidation",
    "UnauthenticatedHTTP2DOSMitigation",
    "UnknownVersionInteroperabilityProxy",
    "WatchCacheInitializationPostStartHook",
    "WatchList",
    "WatchListCompression",
    "WebhookRoundTripLoadBalancing"
  ]
}
{{- end }}

{{- define "csi-sidecars.ofProcess.attacher" -}}
{
  "image.repository": "csi-attacher",
  "image.tag": "",
  "image.digest": "",
  "image.pullPolicy": "",
  "logLevel": null,
  "kubeAPIQPS": null,
  "kubeAPIBurst": null,
  "onLeaseLoss": "",
  "onDriverLoss": "",
  "driverGracePeriod": "",
  "drainTimeout": "",
  "additionalArgs": [],
  "env": [],
  "envFrom": [],
  "volumeMounts": [],
  "lifecycle": {},
  "resources": {
    "requests": {
      "cpu": "10m",
      "memory": "64Mi"
    },
    "limits": {
      "memory": "256Mi"
    }
  },
  "securityContext": {
    "readOnlyRootFilesystem": true,
    "allowPrivilegeEscalation": false,
    "capabilities": {
      "drop": [
        "ALL"
      ]
    },
    "seccompProfile": {
      "type": "RuntimeDefault"
    }
  },
  "startupProbe": {
    "enabled": false,
    "path": "/livez",
    "initialDelaySeconds": 0,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 30
  },
  "livenessProbe": {
    "enabled": true,
    "path": "/livez",
    "initialDelaySeconds": 30,
    "periodSeconds": 20,
    "timeoutSeconds": 10,
    "failureThreshold": 3,
    "terminationGracePeriodSeconds": 30
  },
  "readinessProbe": {
    "enabled": true,
    "path": "/readyz",
    "initialDelaySeconds": 5,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 3
  },
  "metricsPort": 8081
}
{{- end }}

{{- define "csi-sidecars.gates.resizer" -}}
{
  "own": [
    "AnnotateFsResize",
    "ReleaseLeaderElectionOnExit",
    "VolumeAttributesClass"
  ],
  "others": [
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerWebhookAuthenticationToken",
    "APIServingWithRoutine",
    "AggregatedDiscoveryRemoveBetaType",
    "AllAlpha",
    "AllBeta",
    "AllowParsingUserUIDFromCertAuth",
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConcurrentWatchObjectDecode",
    "ConsistentListFromCacheSkipTimeoutFallback",
    "ConstrainedImpersonation",
    "CoordinatedLeaderElection",
    "DeclarativeValidation",
    "DeclarativeValidationBeta",
    "DeclarativeValidationTakeover",
    "DetectCacheInconsistency",
    "EtcdRangeStream",
    "ExcludeAdmissionWebhookVirtualResources",
    "KMSv1",
    "ListFromCacheSnapshot",
    "ManifestBasedAdmissionControlConfig",
    "MutatingAdmissionPolicy",
    "NativeHistograms",
    "OpenAPIEnums",
    "RecoverVolumeExpansionFailure",
    "RemoteRequestHeaderUID",
    "SeparateCacheWatchRPC",
    "ShardedListAndWatch",
    "SizeBasedListCostEstimate",
    "StorageVersionAPI",
    "StorageVersionHash",
    "StructuredAuthenticationConfigurationEgressSelector",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "TokenRequestServiceAccountUIDValidation",
    "UnauthenticatedHTTP2DOSMitigation",
    "UnknownVersionInteroperabilityProxy",
    "WatchCacheInitializationPostStartHook",
    "WatchList",
    "WatchListCompression",
    "WebhookRoundTripLoadBalancing"
  ]
}
{{- end }}

{{- define "csi-sidecars.ofProcess.resizer" -}}
{
  "image.repository": "csi-resizer",
  "image.tag": "",
  "image.digest": "",
  "image.pullPolicy": "",
  "logLevel": null,
  "kubeAPIQPS": null,
  "kubeAPIBurst": null,
  "onLeaseLoss": "",
  "onDriverLoss": "",
  "driverGracePeriod": "",
  "drainTimeout": "",
  "additionalArgs": [],
  "env": [],
  "envFrom": [],
  "volumeMounts": [],
  "lifecycle": {},
  "resources": {
    "requests": {
      "cpu": "10m",
      "memory": "64Mi"
    },
    "limits": {
      "memory": "256Mi"
    }
  },
  "securityContext": {
    "readOnlyRootFilesystem": true,
    "allowPrivilegeEscalation": false,
    "capabilities": {
      "drop": [
        "ALL"
      ]
    },
    "seccompProfile": {
      "type": "RuntimeDefault"
    }
  },
  "startupProbe": {
    "enabled": false,
    "path": "/livez",
    "initialDelaySeconds": 0,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 30
  },
  "livenessProbe": {
    "enabled": true,
    "path": "/livez",
    "initialDelaySeconds": 30,
    "periodSeconds": 20,
    "timeoutSeconds": 10,
    "failureThreshold": 3,
    "terminationGracePeriodSeconds": 30
  },
  "readinessProbe": {
    "enabled": true,
    "path": "/readyz",
    "initialDelaySeconds": 5,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 3
  },
  "metricsPort": 8082
}
{{- end }}

{{- define "csi-sidecars.gates.provisioner" -}}
{
  "own": [
    "CrossNamespaceVolumeDataSource",
    "ReleaseLeaderElectionOnExit",
    "Topology",
    "VolumeAttributesClass"
  ],
  "others": [
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerWebhookAuthenticationToken",
    "APIServingWithRoutine",
    "AggregatedDiscoveryRemoveBetaType",
    "AllAlpha",
    "AllBeta",
    "AllowParsingUserUIDFromCertAuth",
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConcurrentWatchObjectDecode",
    "ConsistentListFromCacheSkipTimeoutFallback",
    "ConstrainedImpersonation",
    "CoordinatedLeaderElection",
    "DeclarativeValidation",
    "DeclarativeValidationBeta",
    "DeclarativeValidationTakeover",
    "DetectCacheInconsistency",
    "EtcdRangeStream",
    "ExcludeAdmissionWebhookVirtualResources",
    "HonorPVReclaimPolicy",
    "KMSv1",
    "ListFromCacheSnapshot",
    "ManifestBasedAdmissionControlConfig",
    "MutatingAdmissionPolicy",
    "NativeHistograms",
    "OpenAPIEnums",
    "RemoteRequestHeaderUID",
    "SeparateCacheWatchRPC",
    "ShardedListAndWatch",
    "SizeBasedListCostEstimate",
    "StorageVersionAPI",
    "StorageVersionHash",
    "StructuredAuthenticationConfigurationEgressSelector",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "TokenRequestServiceAccountUIDValidation",
    "UnauthenticatedHTTP2DOSMitigation",
    "UnknownVersionInteroperabilityProxy",
    "WatchCacheInitializationPostStartHook",
    "WatchList",
    "WatchListCompression",
    "WebhookRoundTripLoadBalancing"
  ]
}
{{- end }}

{{- define "csi-sidecars.ofProcess.provisioner" -}}
{
  "image.repository": "csi-provisioner",
  "image.tag": "",
  "image.digest": "",
  "image.pullPolicy": "",
  "logLevel": null,
  "kubeAPIQPS": null,
  "kubeAPIBurst": null,
  "onLeaseLoss": "",
  "onDriverLoss": "",
  "driverGracePeriod": "",
  "drainTimeout": "",
  "additionalArgs": [],
  "env": [],
  "envFrom": [],
  "volumeMounts": [],
  "lifecycle": {},
  "resources": {
    "requests": {
      "cpu": "10m",
      "memory": "64Mi"
    },
    "limits": {
      "memory": "256Mi"
    }
  },
  "securityContext": {
    "readOnlyRootFilesystem": true,
    "allowPrivilegeEscalation": false,
    "capabilities": {
      "drop": [
        "ALL"
      ]
    },
    "seccompProfile": {
      "type": "RuntimeDefault"
    }
  },
  "startupProbe": {
    "enabled": false,
    "path": "/livez",
    "initialDelaySeconds": 0,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 30
  },
  "livenessProbe": {
    "enabled": true,
    "path": "/livez",
    "initialDelaySeconds": 30,
    "periodSeconds": 20,
    "timeoutSeconds": 10,
    "failureThreshold": 3,
    "terminationGracePeriodSeconds": 30
  },
  "readinessProbe": {
    "enabled": true,
    "path": "/readyz",
    "initialDelaySeconds": 5,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 3
  },
  "metricsPort": 8083
}
{{- end }}

{{- define "csi-sidecars.gates.snapshotter" -}}
{
  "own": [
    "CSIVolumeGroupSnapshot",
    "ReleaseLeaderElectionOnExit"
  ],
  "others": [
    "APIResponseCompression",
    "APIServerIdentity",
    "APIServerWebhookAuthenticationToken",
    "APIServingWithRoutine",
    "AggregatedDiscoveryRemoveBetaType",
    "AllAlpha",
    "AllBeta",
    "AllowParsingUserUIDFromCertAuth",
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConcurrentWatchObjectDecode",
    "ConsistentListFromCacheSkipTimeoutFallback",
    "ConstrainedImpersonation",
    "CoordinatedLeaderElection",
    "DeclarativeValidation",
    "DeclarativeValidationBeta",
    "DeclarativeValidationTakeover",
    "DetectCacheInconsistency",
    "EtcdRangeStream",
    "ExcludeAdmissionWebhookVirtualResources",
    "KMSv1",
    "ListFromCacheSnapshot",
    "ManifestBasedAdmissionControlConfig",
    "MutatingAdmissionPolicy",
    "NativeHistograms",
    "OpenAPIEnums",
    "RemoteRequestHeaderUID",
    "SeparateCacheWatchRPC",
    "ShardedListAndWatch",
    "SizeBasedListCostEstimate",
    "StorageVersionAPI",
    "StorageVersionHash",
    "StructuredAuthenticationConfigurationEgressSelector",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "TokenRequestServiceAccountUIDValidation",
    "UnauthenticatedHTTP2DOSMitigation",
    "UnknownVersionInteroperabilityProxy",
    "WatchCacheInitializationPostStartHook",
    "WatchList",
    "WatchListCompression",
    "WebhookRoundTripLoadBalancing"
  ]
}
{{- end }}

{{- define "csi-sidecars.ofProcess.snapshotter" -}}
{
  "image.repository": "csi-snapshotter",
  "image.tag": "",
  "image.digest": "",
  "image.pullPolicy": "",
  "logLevel": null,
  "kubeAPIQPS": null,
  "kubeAPIBurst": null,
  "onLeaseLoss": "",
  "onDriverLoss": "",
  "driverGracePeriod": "",
  "drainTimeout": "",
  "additionalArgs": [],
  "env": [],
  "envFrom": [],
  "volumeMounts": [],
  "lifecycle": {},
  "resources": {
    "requests": {
      "cpu": "10m",
      "memory": "64Mi"
    },
    "limits": {
      "memory": "256Mi"
    }
  },
  "securityContext": {
    "readOnlyRootFilesystem": true,
    "allowPrivilegeEscalation": false,
    "capabilities": {
      "drop": [
        "ALL"
      ]
    },
    "seccompProfile": {
      "type": "RuntimeDefault"
    }
  },
  "startupProbe": {
    "enabled": false,
    "path": "/livez",
    "initialDelaySeconds": 0,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 30
  },
  "livenessProbe": {
    "enabled": true,
    "path": "/livez",
    "initialDelaySeconds": 30,
    "periodSeconds": 20,
    "timeoutSeconds": 10,
    "failureThreshold": 3,
    "terminationGracePeriodSeconds": 30
  },
  "readinessProbe": {
    "enabled": true,
    "path": "/readyz",
    "initialDelaySeconds": 5,
    "periodSeconds": 10,
    "timeoutSeconds": 5,
    "failureThreshold": 3
  },
  "metricsPort": 8084
}
{{- end }}
