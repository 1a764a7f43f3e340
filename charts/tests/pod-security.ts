import type { Container, PodSpec } from './manifest.ts'

/**
 * Returns the violations of the Pod Security Standards that a rendered pod can show. The end-to-end tests use the
 * admission of the API server.
 */
export function baselineViolations(pod: PodSpec): readonly string[] {
  const host = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => pod[field] === true)
  const paths = pod.volumes.filter((volume) => volume['hostPath'] !== undefined).map(({ name }) => `hostPath ${name}`)
  const containers = everyContainer(pod).flatMap((container) => {
    const { securityContext = {}, ports = [] } = container
    return [
      ...(securityContext.privileged === true ? [`${container.name} privileged`] : []),
      ...(securityContext.capabilities?.add ?? []).map((name) => `${container.name} adds ${name}`),
      ...(unconfined(securityContext) ? [`${container.name} unconfined`] : []),
      ...ports
        .filter(({ hostPort }) => hostPort !== undefined)
        .map(({ name }) => `${container.name} host port ${name}`),
    ]
  })
  return [...host, ...paths, ...containers]
}

const RESTRICTED_VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]

export function restrictedViolations(pod: PodSpec): readonly string[] {
  const volumes = pod.volumes
    .filter((volume) => !RESTRICTED_VOLUMES.some((kind) => volume[kind] !== undefined))
    .map(({ name }) => `volume ${name}`)
  const containers = everyContainer(pod).flatMap(({ name, securityContext: ownContext = {} }) => {
    const { runAsNonRoot, runAsUser, seccompProfile } = { ...pod.securityContext, ...ownContext }
    return [
      ...(ownContext.allowPrivilegeEscalation === false ? [] : [`${name} may escalate`]),
      ...(ownContext.capabilities?.drop?.includes('ALL') === true ? [] : [`${name} keeps capabilities`]),
      ...(runAsNonRoot === true ? [] : [`${name} may be root`]),
      ...(runAsUser === 0 ? [`${name} is root`] : []),
      ...(seccompProfile === undefined ? [`${name} without seccomp`] : []),
    ]
  })
  return [...baselineViolations(pod), ...volumes, ...containers]
}

function everyContainer({ containers, initContainers = [] }: PodSpec): readonly Container[] {
  return [...initContainers, ...containers]
}

function unconfined({ seccompProfile }: NonNullable<Container['securityContext']>): boolean {
  return seccompProfile?.type === 'Unconfined'
}
