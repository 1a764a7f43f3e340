/** A Go module of which users of this project see something. */
export interface Project {
  readonly name: string
  /** Without the major version. */
  readonly module: string
  readonly major?: number
  /** What is read of it. */
  readonly folders: readonly string[]
  /** The manifest with its permissions. */
  readonly rbac?: string
  /** Without them: what a sidecar has. Otherwise the fields of these types. */
  readonly types?: readonly string[]
  /** What is read where no other version is named. */
  readonly newest: string
}

const ORG = 'github.com/kubernetes-csi'
const RBAC = 'deploy/kubernetes/rbac.yaml'

export const PROJECTS: readonly Project[] = [
  {
    name: 'external-attacher',
    module: `${ORG}/external-attacher`,
    major: 4,
    folders: ['cmd', 'pkg'],
    rbac: RBAC,
    newest: 'latest',
  },
  {
    name: 'external-resizer',
    module: `${ORG}/external-resizer`,
    major: 2,
    folders: ['cmd', 'pkg'],
    rbac: RBAC,
    newest: 'latest',
  },
  // Its tags are no versions of a Go module.
  { name: 'livenessprobe', module: `${ORG}/livenessprobe`, folders: ['cmd'], newest: 'master' },
  { name: 'csi-lib-utils', module: `${ORG}/csi-lib-utils`, folders: ['.'], newest: 'latest' },
  {
    name: 'kubernetes',
    module: 'k8s.io/api',
    folders: ['coordination/v1', 'core/v1', 'storage/v1'],
    newest: 'latest',
    // What the sidecars read and write.
    types: [
      'CSINodeDriver',
      'CSINodeSpec',
      'CSIPersistentVolumeSource',
      'LeaseSpec',
      'ModifyVolumeStatus',
      'PersistentVolumeClaimCondition',
      'PersistentVolumeClaimSpec',
      'PersistentVolumeClaimStatus',
      'PersistentVolumeSpec',
      'PersistentVolumeStatus',
      'VolumeAttachmentSource',
      'VolumeAttachmentSpec',
      'VolumeAttachmentStatus',
      'VolumeAttributesClass',
      'VolumeError',
      'VolumeNodeAffinity',
      'VolumeNodeResources',
    ],
  },
]
