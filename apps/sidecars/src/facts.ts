import { facts as attacher } from '@csi-sidecars/attacher/facts'
import { facts as provisioner } from '@csi-sidecars/provisioner/facts'
import { facts as resizer } from '@csi-sidecars/resizer/facts'
import type { AppName, PreviewName } from './sidecars.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

interface Facts {
  readonly original: string
  readonly rules: readonly Rule[]
  /** Beside them, where it can run on each node. */
  readonly nodeRules?: readonly Rule[]
  readonly call: string
  readonly startLine: string
  readonly leasePrefix: string
}

/**
 * What tests, benchmarks and images know about each released sidecar; no executable contains it. A row is the object
 * `facts` beside the app, and the compiler refuses a sidecar without one.
 */
export const FACTS: Readonly<Record<AppName | PreviewName, Facts>> = { attacher, resizer, provisioner }
