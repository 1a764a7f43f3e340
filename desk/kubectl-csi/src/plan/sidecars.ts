import { ATTACHER_FLAGS } from '@csi-sidecars/attacher/flags'
import { FLAGS as LIVENESSPROBE_FLAGS, USED_STANDARD_FLAGS } from '@csi-sidecars/livenessprobe/flags'
import { PROVISIONER_FLAGS } from '@csi-sidecars/provisioner/flags'
import { RESIZER_FLAGS } from '@csi-sidecars/resizer/flags'
import { type FlaggedApp, RELEASE_ON_EXIT } from '@csi-sidecars/sidecar/command-line'
import { SNAPSHOTTER_FLAGS } from '@csi-sidecars/snapshotter/flags'
import type { SidecarName } from '../swap-changes/index.ts'

export type { SidecarName } from '../swap-changes/index.ts'

/** A Go sidecar with the program of this project that takes its place. */
export interface KnownSidecar extends FlaggedApp {
  /** The name of the Go sidecar, such as `external-attacher`. */
  readonly original: string
  /** The version of the Go sidecar that our program is a copy of. */
  readonly replaces: string
  /** The name of our image and executable. Undefined if only the combined process contains the sidecar. */
  readonly image: string | undefined
  /** The Go package whose rules the command line follows. */
  readonly syntax: 'flag' | 'pflag'
}

const GA = { stage: 'ga', default: true } as const

/**
 * The sidecars in the order of `--controllers`. The values of `app.ts` of each sidecar are repeated here, because the
 * command must not contain their controllers. A test compares both.
 */
export const KNOWN_SIDECARS: Readonly<Record<SidecarName, KnownSidecar>> = {
  attacher: {
    prefix: 'attacher',
    original: 'external-attacher',
    replaces: 'v4.13.0',
    image: 'csi-attacher',
    syntax: 'flag',
    flags: ATTACHER_FLAGS,
    gates: {
      sidecarGates: { MutableCSINodeAllocatableCount: GA, ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT },
      permanent: {},
    },
  },
  resizer: {
    prefix: 'resizer',
    original: 'external-resizer',
    replaces: 'v2.3.0',
    image: 'csi-resizer',
    syntax: 'flag',
    flags: RESIZER_FLAGS,
    gates: {
      sidecarGates: {
        AnnotateFsResize: { stage: 'beta', default: true },
        ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
        VolumeAttributesClass: GA,
      },
      permanent: { RecoverVolumeExpansionFailure: true },
    },
  },
  provisioner: {
    prefix: 'provisioner',
    original: 'external-provisioner',
    replaces: 'v6.4.0',
    image: 'csi-provisioner',
    syntax: 'pflag',
    flags: PROVISIONER_FLAGS,
    gates: {
      sidecarGates: {
        CrossNamespaceVolumeDataSource: { stage: 'alpha', default: false },
        ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT,
        Topology: GA,
        VolumeAttributesClass: GA,
      },
      permanent: { HonorPVReclaimPolicy: true },
    },
  },
  snapshotter: {
    prefix: 'snapshotter',
    original: 'external-snapshotter',
    replaces: 'v8.7.0',
    image: 'csi-snapshotter',
    syntax: 'flag',
    flags: SNAPSHOTTER_FLAGS,
    gates: {
      sidecarGates: { CSIVolumeGroupSnapshot: GA, ReleaseLeaderElectionOnExit: RELEASE_ON_EXIT },
      permanent: {},
    },
  },
  livenessprobe: {
    prefix: 'livenessprobe',
    original: 'livenessprobe',
    replaces: 'v2.20.0',
    image: undefined,
    syntax: 'flag',
    flags: LIVENESSPROBE_FLAGS,
    usedStandardFlags: USED_STANDARD_FLAGS,
  },
}

/** The name of the image and of the executable of the combined process. */
export const COMBINED = 'csi-sidecars'

export const SIDECAR_NAMES = Object.keys(KNOWN_SIDECARS) as readonly SidecarName[]

/** Returns the sidecars in the order of `--controllers`. */
export function inOrder(sidecars: readonly SidecarName[]): readonly SidecarName[] {
  return SIDECAR_NAMES.filter((name) => sidecars.includes(name))
}
