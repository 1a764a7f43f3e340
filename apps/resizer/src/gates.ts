import { type GateTable, RELEASE_ON_EXIT } from '@csi-sidecars/sidecar'

/** The resizer's feature gates. */
export const RESIZER_GATES = {
  own: {
    AnnotateFsResize: { stage: 'beta', default: true },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
    VolumeAttributesClass: { stage: 'ga', default: true },
  },
  permanent: { RecoverVolumeExpansionFailure: true },
} as const satisfies GateTable

export type GateName = keyof (typeof RESIZER_GATES)['own']
