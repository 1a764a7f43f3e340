import { type GateTable, RELEASE_ON_EXIT } from '@csi-sidecars/sidecar'

/** The attacher's feature gates. */
export const ATTACHER_GATES = {
  own: {
    MutableCSINodeAllocatableCount: { stage: 'ga', default: true },
    ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
  },
  permanent: {},
} as const satisfies GateTable

export type GateName = keyof (typeof ATTACHER_GATES)['own']
