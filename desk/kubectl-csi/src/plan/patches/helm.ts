import type { SidecarName } from '../sidecars.ts'
import type { Workload } from '../workload.ts'

/** The Helm release that owns an object. */
export interface HelmRelease {
  readonly release: string
  readonly namespace: string
  /** The name of the chart, such as `aws-ebs-csi-driver`. Undefined if no label names it. */
  readonly chart: string | undefined
}

/** Returns the release that owns an object. Undefined if Helm does not manage it. */
export function helmReleaseOf({ labels, annotations, namespace }: Workload): HelmRelease | undefined {
  const isManaged = [labels['app.kubernetes.io/managed-by'], labels['heritage']].includes('Helm')
  const release = annotations['meta.helm.sh/release-name'] ?? labels['app.kubernetes.io/instance'] ?? labels['release']
  if (!isManaged || release === undefined) return undefined
  const chart = labels['helm.sh/chart'] ?? labels['chart']
  return {
    release,
    namespace: annotations['meta.helm.sh/release-namespace'] ?? namespace,
    chart: chart?.replace(/-v?\d+\.[\w.+-]{1,60}$/, ''),
  }
}

/** An image of ours for a value of a chart. */
interface ChartImage {
  readonly sidecar: SidecarName
  readonly repository: string
  readonly tag: string
}

/** The paths of the values of an image. `whole` is one value for repository and tag. */
type ImageValues = Readonly<{ repository?: string; tag?: string; registry?: string; reference?: string }>

const nested =
  (path: (task: string) => string, repository = 'repository') =>
  (sidecar: SidecarName): ImageValues => ({
    repository: `${path(sidecar)}.${repository}`,
    tag: `${path(sidecar)}.tag`,
  })
const capitalized = (task: string): string => `${task.slice(0, 1).toUpperCase()}${task.slice(1)}`

/** The values of the images of sidecars in public charts. */
const CHARTS: Readonly<Record<string, (sidecar: SidecarName) => ImageValues>> = {
  'aws-ebs-csi-driver': nested((task) => `sidecars.${task}.image`),
  'ceph-csi-rbd': nested((task) => `provisioner.${task}.image`),
  'ceph-csi-cephfs': nested((task) => `provisioner.${task}.image`),
  'csi-driver-nfs': nested((task) => `image.csi${capitalized(task)}`),
  'hcloud-csi': nested((task) => `controller.image.csi${capitalized(task)}`, 'name'),
  'openstack-cinder-csi': nested((task) => `csi.${task}.image`),
  'proxmox-csi-plugin': nested((task) => `controller.${task}.image`),
  'scaleway-csi': nested((task) => `controller.${task}.image`),
  'democratic-csi': nested((task) => `controller.external${capitalized(task)}.image`, 'registry'),
  longhorn: (sidecar) => ({
    registry: `image.csi.${sidecar}.registry`,
    repository: `image.csi.${sidecar}.repository`,
    tag: `image.csi.${sidecar}.tag`,
  }),
  topolvm: (sidecar) => ({ reference: `image.csi.csi${capitalized(sidecar)}` }),
}

/** Returns the values that swap the images. Undefined if the values of the chart are not known. */
export function helmValues(
  chart: string | undefined,
  images: readonly ChartImage[],
): Record<string, unknown> | undefined {
  const paths = chart !== undefined && Object.hasOwn(CHARTS, chart) ? CHARTS[chart] : undefined
  if (paths === undefined) return undefined
  const values: Record<string, unknown> = {}
  for (const { sidecar, repository, tag } of images) {
    const path = paths(sidecar)
    if (path.reference !== undefined) setPath(values, path.reference, `${repository}:${tag}`)
    const slash = repository.indexOf('/')
    const separate = path.registry !== undefined
    if (path.registry !== undefined) setPath(values, path.registry, repository.slice(0, slash))
    if (path.repository !== undefined)
      setPath(values, path.repository, separate ? repository.slice(slash + 1) : repository)
    if (path.tag !== undefined) setPath(values, path.tag, tag)
  }
  return values
}

function setPath(values: Record<string, unknown>, path: string, value: string): void {
  const [first = '', ...rest] = path.split('.')
  if (rest.length === 0) {
    values[first] = value
    return
  }
  const inner = values[first]
  const below: Record<string, unknown> = typeof inner === 'object' && inner !== null ? { ...inner } : {}
  setPath(below, rest.join('.'), value)
  values[first] = below
}
