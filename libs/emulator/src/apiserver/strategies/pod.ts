import {
  at,
  isObject,
  type Json,
  type JsonObject,
  type KubeObject,
  listAt,
  objectAt,
  sameJson,
  textAt,
  withField,
} from '../json.ts'
import { checkName, label } from '../names.ts'
import type { Problems } from '../problems.ts'
import type { Strategy } from './strategy.ts'

const READ_ONLY_BY_OTHERS = 0o644
const TOLERATION_SECONDS = 300
const UPDATABLE =
  'spec.containers[*].image,spec.initContainers[*].image,spec.activeDeadlineSeconds,spec.tolerations (only additions to ' +
  'existing tolerations),spec.terminationGracePeriodSeconds (allow it to be set to 1 if it was previously negative)'

export const podStrategy: Strategy = {
  defaults(object) {
    const spec = objectAt(object, 'spec') ?? {}
    return { ...object, spec: withSpecDefaults(spec) }
  },
  prepareCreate(object) {
    const spec = objectAt(object, 'spec') ?? {}
    return {
      ...object,
      spec: { priority: 0, preemptionPolicy: 'PreemptLowerPriority', ...spec, tolerations: withTolerations(spec) },
      status: { phase: 'Pending', qosClass: qualityOf(spec) },
    }
  },
  validate: checkPod,
  validateUpdate(problems, object, old) {
    if (!sameJson(fixedSpec(object, old), objectAt(old, 'spec'))) {
      problems.forbidden('spec', `pod updates may not change fields other than ${UPDATABLE}`)
    }
  },
}

function withSpecDefaults(spec: JsonObject): JsonObject {
  const containers = (field: string): Json[] => listAt(spec, field).map((each) => withContainerDefaults(each))
  return {
    dnsPolicy: 'ClusterFirst',
    enableServiceLinks: true,
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
    ...spec,
    containers: containers('containers'),
    ...(spec['initContainers'] === undefined ? {} : { initContainers: containers('initContainers') }),
    ...(spec['volumes'] === undefined ? {} : { volumes: listAt(spec, 'volumes').map(withVolumeDefaults) }),
  }
}

function withContainerDefaults(container: Json): Json {
  if (!isObject(container)) return container
  const image = textAt(container, 'image') ?? ''
  const tag = /:([^/@:]+)(?:@|$)/.exec(image)?.[1] ?? (image.includes('@') ? 'pinned' : 'latest')
  return {
    imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...container,
    resources: withRequests(objectAt(container, 'resources') ?? {}),
  }
}

/** What is limited is requested, unless the request says less. */
function withRequests(resources: JsonObject): JsonObject {
  const limits = objectAt(resources, 'limits')
  return limits === undefined
    ? resources
    : { ...resources, requests: { ...limits, ...objectAt(resources, 'requests') } }
}

function withVolumeDefaults(volume: Json): Json {
  if (!isObject(volume)) return volume
  const sources = Object.keys(volume).filter((key) => key !== 'name')
  if (sources.length === 0) return { ...volume, emptyDir: {} }
  const moded = ['secret', 'configMap', 'projected', 'downwardAPI'].find((source) => isObject(volume[source]))
  if (moded !== undefined) {
    return { ...volume, [moded]: { defaultMode: READ_ONLY_BY_OTHERS, ...objectAt(volume, moded) } }
  }
  const host = objectAt(volume, 'hostPath')
  return host === undefined ? volume : { ...volume, hostPath: { type: '', ...host } }
}

/** A pod stays five minutes on a node that is gone, unless it says otherwise. */
function withTolerations(spec: JsonObject): Json[] {
  const own = [...listAt(spec, 'tolerations')]
  for (const condition of ['not-ready', 'unreachable']) {
    const key = `node.kubernetes.io/${condition}`
    if (own.some((toleration) => (textAt(toleration, 'key') ?? key) === key)) continue
    own.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: TOLERATION_SECONDS })
  }
  return own
}

function qualityOf(spec: JsonObject): string {
  const resources = listAt(spec, 'containers').map((container) => objectAt(container, 'resources') ?? {})
  const amounts = (each: JsonObject, field: string): JsonObject => objectAt(each, field) ?? {}
  if (
    resources.every(
      (each) => [...Object.keys(amounts(each, 'limits')), ...Object.keys(amounts(each, 'requests'))].length === 0,
    )
  ) {
    return 'BestEffort'
  }
  const guaranteed = resources.every(
    (each) =>
      ['cpu', 'memory'].every((name) => amounts(each, 'limits')[name] !== undefined) &&
      sameJson(amounts(each, 'limits'), { ...amounts(each, 'limits'), ...amounts(each, 'requests') }),
  )
  return guaranteed ? 'Guaranteed' : 'Burstable'
}

function checkPod(problems: Problems, object: KubeObject): void {
  const containers = listAt(object, 'spec', 'containers')
  if (containers.length === 0) problems.required('spec.containers')
  const names = new Set<string>()
  containers.forEach((container, index) => {
    const path = `spec.containers[${index}]`
    const name = textAt(container, 'name') ?? ''
    if (name === '') problems.required(`${path}.name`)
    else checkName(problems, `${path}.name`, name, label)
    if (names.has(name)) problems.duplicate(`${path}.name`, name)
    names.add(name)
    if ((textAt(container, 'image') ?? '') === '') problems.required(`${path}.image`)
  })
  checkVolumes(problems, object, containers)
  const policy = textAt(object, 'spec', 'restartPolicy') ?? ''
  const policies = ['Always', 'OnFailure', 'Never']
  if (!policies.includes(policy)) problems.unsupported('spec.restartPolicy', policy, policies)
}

function checkVolumes(problems: Problems, object: KubeObject, containers: readonly Json[]): void {
  const names = new Set<string>()
  listAt(object, 'spec', 'volumes').forEach((volume, index) => {
    const name = textAt(volume, 'name') ?? ''
    const path = `spec.volumes[${index}]`
    if (name === '') problems.required(`${path}.name`)
    else checkName(problems, `${path}.name`, name, label)
    if (names.has(name)) problems.duplicate(`${path}.name`, name)
    names.add(name)
    if (textAt(volume, 'persistentVolumeClaim', 'claimName') === '') {
      problems.required(`${path}.persistentVolumeClaim.claimName`)
    }
  })
  containers.forEach((container, at) => {
    listAt(container, 'volumeMounts').forEach((mount, index) => {
      const path = `spec.containers[${at}].volumeMounts[${index}]`
      const name = textAt(mount, 'name') ?? ''
      if (name === '') problems.required(`${path}.name`)
      else if (!names.has(name)) problems.notFound(`${path}.name`, name)
      if ((textAt(mount, 'mountPath') ?? '') === '') problems.required(`${path}.mountPath`)
    })
  })
}

/** The new spec with the old values of what may change; it must then be the old one. */
function fixedSpec(object: KubeObject, old: KubeObject): JsonObject {
  const spec = objectAt(object, 'spec') ?? {}
  let fixed: JsonObject = { ...spec }
  for (const field of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates']) {
    fixed = withField(fixed, field, at(old, 'spec', field))
  }
  for (const field of ['containers', 'initContainers']) {
    if (spec[field] === undefined) continue
    const containers = listAt(spec, field).map((container, index) =>
      isObject(container) ? withField(container, 'image', at(listAt(old, 'spec', field)[index], 'image')) : container,
    )
    fixed = withField(fixed, field, containers)
  }
  return fixed
}
