import { facts as attacher } from '@csi-sidecars/attacher/facts'
import { facts as provisioner } from '@csi-sidecars/provisioner/facts'
import { facts as resizer } from '@csi-sidecars/resizer/facts'
import { facts as snapshotter } from '@csi-sidecars/snapshotter/facts'
import type { AppName, NameOnRequest } from './sidecars.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

interface Facts {
  readonly original: string
  readonly rules: readonly Rule[]
  /** Further RBAC rules of a sidecar that runs on each node. */
  readonly nodeRules?: readonly Rule[]
  readonly mainMethod: string
  readonly startLine: string
  readonly leasePrefix: string
}

/**
 * The facts about each sidecar for tests, benchmarks and images. No executable contains them, and the compiler refuses
 * a sidecar without facts.
 */
export const FACTS: Readonly<Record<AppName | NameOnRequest, Facts>> = { attacher, resizer, provisioner, snapshotter }
