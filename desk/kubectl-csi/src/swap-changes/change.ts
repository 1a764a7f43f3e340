/** A sidecar whose Go sidecar this project replaces. */
export type SidecarName = 'attacher' | 'provisioner' | 'resizer' | 'snapshotter' | 'livenessprobe'

/** The subject of a change. */
export type ChangeKind = 'default' | 'flag' | 'gate' | 'right' | 'API' | 'behaviour'

/**
 * The weight of a change:
 * - `danger`: work that succeeded before can fail, or data and volumes are treated differently.
 * - `check`: a value, a right or an object may have to change.
 * - `note`: users can see the change, but have nothing to do.
 */
export type Weight = 'danger' | 'check' | 'note'

/** A fact that decides whether a change concerns an installation. A program can test each kind, if it knows the fact. */
export type SwapCondition =
  /** The command line of the sidecar sets one of these flags, with any value. */
  | { readonly kind: 'flag-given'; readonly flags: readonly string[] }
  | { readonly kind: 'flag-not-given'; readonly flag: string }
  /** The flag `--feature-gates` sets this gate. Without `value`: to any value. */
  | { readonly kind: 'gate-given'; readonly gate: string; readonly value?: boolean }
  | { readonly kind: 'gate-not-given'; readonly gate: string }
  /** The driver reports this capability of the plugin or of the controller service, by its name in CSI. */
  | { readonly kind: 'capability'; readonly capability: string }
  /** The API server is older than this minor version of Kubernetes. */
  | { readonly kind: 'kubernetes-below'; readonly version: string }
  /** The driver takes the place of an in-tree plugin, for example `ebs.csi.aws.com`. */
  | { readonly kind: 'migrated-driver' }
  /** The cluster has the resource, by its name in the API, for example `volumegroupsnapshots`. */
  | { readonly kind: 'resource'; readonly resource: string }

/** The step that restores the behaviour of the older version. */
export type Restoration =
  /** The argument that restores it, for example `--feature-gates=Topology=false`. */
  | { readonly kind: 'argument'; readonly argument: string }
  /** Something else that a person does. */
  | { readonly kind: 'step'; readonly step: string }
  /** The older behaviour is gone. */
  | { readonly kind: 'none' }

/** The proof of a change in the repository of the Go sidecar. */
export type ChangeSource =
  | { readonly kind: 'changelog'; readonly file: string; readonly heading: string; readonly pull?: number }
  /** The changelog does not mention the change. The file differs between the two tags. */
  | { readonly kind: 'code'; readonly file: string; readonly between: readonly [string, string] }

/** A rule of a Role, as RBAC writes it. */
export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** A difference between older versions of a Go sidecar and our sidecar. */
export interface SwapChange {
  /** A stable name, unique in the list. Documents and reports may refer to it. */
  readonly id: string
  /** The subject in a few words, for lists. Markdown. */
  readonly title: string
  readonly sidecar: SidecarName
  /** The first version of the Go sidecar that behaves like ours. Older ones differ. */
  readonly since: string
  readonly kind: ChangeKind
  readonly weight: Weight
  /** The difference, as a sentence about our sidecar. Markdown. */
  readonly change: string
  /** The visible result for a user. Markdown. */
  readonly effect: string
  /** The affected installations, as a phrase. Markdown. */
  readonly affects: string
  /** All conditions must hold for an effect. Empty: every installation is affected. */
  readonly conditions: readonly SwapCondition[]
  readonly restoration: Restoration
  /** The rules that the role must have, for changes of kind `right`. */
  readonly rules?: readonly Rule[]
  readonly source: ChangeSource
}
