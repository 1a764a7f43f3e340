import { parseVersion, type SidecarName } from '../../swap-changes/index.ts'
import { COMBINED, KNOWN_SIDECARS, SIDECAR_NAMES } from '../sidecars.ts'
import { type CommandOfContainer, programName } from './command.ts'
import { type ImageName, parseImage } from './image.ts'

/** A Go program of a CSI pod that stays, because this project has no program for it. */
export type RemainingProgram =
  | 'csi-addons'
  | 'health-monitor'
  | 'node-driver-registrar'
  | 'snapshot-controller'
  | 'snapshot-metadata'
  | 'snapshot-webhook'

/** The program of a container, as its image and its command name it. */
export type Identity =
  | {
      readonly kind: 'sidecar'
      readonly sidecar: SidecarName
      /** The version in the tag, such as `4.0.1`. Undefined if the image names none. */
      readonly version: string | undefined
      /** The registry, if the image is a copy of the image of the Go sidecar. */
      readonly copiedTo: string | undefined
    }
  | { readonly kind: 'fork'; readonly sidecar: SidecarName; readonly why: string }
  /** A program of this project. */
  | { readonly kind: 'ours'; readonly program: string }
  | { readonly kind: 'remaining'; readonly program: RemainingProgram }
  /** The container has the name of a sidecar, but its image is unknown. */
  | { readonly kind: 'unknown'; readonly looksLike: SidecarName }
  /** The driver, or another container of the vendor. */
  | { readonly kind: 'other' }

/** The names of images, as patterns of their last part. */
const CONTROLLER = /^(?:[\w.-]{1,60}-)?(?:csi|external)-(attacher|provisioner|resizer|snapshotter)(?:-rhel\d)?$/
const LIVENESSPROBE = /^(?:[\w.-]{1,60}-)?liveness-?probe(?:-rhel\d)?$/
const REMAINING_PROGRAMS: readonly (readonly [RegExp, RemainingProgram])[] = [
  [/node-driver-registrar/, 'node-driver-registrar'],
  [/snapshot-validation-webhook/, 'snapshot-webhook'],
  [/snapshot-controller/, 'snapshot-controller'],
  [/snapshot-metadata/, 'snapshot-metadata'],
  [/external-health-monitor/, 'health-monitor'],
]

/** The registries of the Go sidecars. */
const ORIGINAL =
  /^(?:(?:registry\.k8s\.io|k8s\.gcr\.io)\/sig-storage|quay\.io\/k8scsi|gcr\.io\/k8s-staging-sig-storage)\//

/** The suffixes of tags with which vendors mark a new build of unchanged source. */
const REBUILT =
  /^(?:eksbuild\.\d+|eks-\d+-\d+-\d+|gke\.\d+|\d{1,8}(?:-\d{1,8})?|build\d+|rancher\d+|rc\.?\d+|alpha\.?\d+|beta\.?\d+)$/

export function identityOf(
  container: { readonly name: string; readonly image?: string | undefined },
  command: CommandOfContainer,
  ourRegistry: string,
): Identity {
  const image = parseImage(container.image ?? '')
  if (isOurs(image, ourRegistry)) return { kind: 'ours', program: image.baseName }
  const remainingProgram = REMAINING_PROGRAMS.find(([pattern]) => pattern.test(image.baseName))
  if (remainingProgram !== undefined) return { kind: 'remaining', program: remainingProgram[1] }
  if (image.repository.includes('csiaddons/')) return { kind: 'remaining', program: 'csi-addons' }
  const named = sidecarIn(image.baseName)
  if (named !== undefined) return ofImage(named, image)
  const started = sidecarIn(programName(command))
  if (started !== undefined) return { kind: 'sidecar', sidecar: started, version: undefined, copiedTo: undefined }
  const looksLike = sidecarIn(container.name) ?? sidecarIn(`csi-${container.name}`)
  return looksLike === undefined ? { kind: 'other' } : { kind: 'unknown', looksLike }
}

function isOurs({ repository, baseName }: ImageName, ourRegistry: string): boolean {
  const programs: readonly (string | undefined)[] = SIDECAR_NAMES.map((name) => KNOWN_SIDECARS[name].image)
  return repository === `${ourRegistry}/${baseName}` && (baseName === COMBINED || programs.includes(baseName))
}

/** Returns the sidecar of a name such as `csi-attacher`, `external-attacher` or `livenessprobe`. */
function sidecarIn(name: string): SidecarName | undefined {
  if (LIVENESSPROBE.test(name)) return 'livenessprobe'
  const [, task] = CONTROLLER.exec(name) ?? []
  return SIDECAR_NAMES.find((each) => each === task)
}

function ofImage(sidecar: SidecarName, { repository, baseName, tag = '' }: ImageName): Identity {
  const [release = '', ...more] = tag.split('-')
  const suffix = more.join('-')
  const isPlain = suffix === '' || REBUILT.test(suffix)
  if (repository.includes('aliyun') || repository.includes('/acs/') || suffix.includes('aliyun')) {
    return { kind: 'fork', sidecar, why: `Alibaba Cloud changes the source of ${KNOWN_SIDECARS[sidecar].original}` }
  }
  if (!isPlain) {
    return { kind: 'fork', sidecar, why: `the suffix -${suffix} of its tag is no known mark of an unchanged build` }
  }
  const isOriginal = ORIGINAL.test(repository)
  // The tags of OpenShift are versions of OpenShift.
  const version = baseName.startsWith('ose-') ? undefined : parseVersion(release)
  return {
    kind: 'sidecar',
    sidecar,
    version: version?.join('.'),
    copiedTo: isOriginal ? undefined : repository.slice(0, -baseName.length - 1),
  }
}
