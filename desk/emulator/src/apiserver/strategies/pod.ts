import {
  type ApiObject,
  at,
  isList,
  isObject,
  type Json,
  type JsonMap,
  listAt,
  objectAt,
  sameJson,
  textAt,
  withField,
  withSpec,
} from '../schema/json.ts'
import { label } from './names.ts'
import { podVolumes } from './pod-volumes.ts'
import { all, type FieldRule, fields, items, named, needed, oneOf, unique } from './rules.ts'
import type { Strategy } from './strategy.ts'

const TOLERATION_SECONDS = 300
const UPDATABLE =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions ' +
  'to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

const isThere: FieldRule = (errors, path, list) => {
  if (!isList(list) || list.length === 0) errors.required(path)
}

const podSpec: FieldRule = (errors, path, spec) => {
  const volumes = new Set(listAt(spec, 'volumes').map((volume) => at(volume, 'name')))
  const mounted: FieldRule = (_, where, name) => {
    if (errors.needed(where, name) && !volumes.has(name)) errors.notFound(where, name ?? '')
  }
  const containers = items(() => fields({ name: all(named(label), unique()), image: needed }))
  const mounts = items(() => fields({ volumeMounts: items(() => fields({ name: mounted, mountPath: needed })) }))
  fields({ volumes: podVolumes, containers: all(isThere, containers, mounts) })(errors, path, spec)
}

export const pod: Strategy = {
  defaults: (object) =>
    withSpec(object, (spec) => ({ enableServiceLinks: true, ...withAllRequests(withSpecDefaults(spec)) })),
  prepareCreate(object) {
    const spec = objectAt(object, 'spec') ?? {}
    return {
      ...object,
      spec: { priority: 0, preemptionPolicy: 'PreemptLowerPriority', ...spec, tolerations: withTolerations(spec) },
      status: { phase: 'Pending', qosClass: qualityOf(spec) },
    }
  },
  rules: fields({ spec: all(podSpec, fields({ restartPolicy: oneOf('Always', 'OnFailure', 'Never') })) }),
  validateUpdate(errors, object, old) {
    if (!sameJson(fixedSpec(object, old), objectAt(old, 'spec'))) {
      errors.forbidden('spec', `pod updates may not change fields other than ${UPDATABLE}`)
    }
  },
}

/** Sets the missing requests of each container to its limits. */
function withAllRequests(spec: JsonMap): JsonMap {
  const fields = ['containers', 'initContainers'].filter((field) => spec[field] !== undefined)
  return { ...spec, ...Object.fromEntries(fields.map((field) => [field, listAt(spec, field).map(withRequests)])) }
}

function withRequests(container: Json): Json {
  const limits = objectAt(container, 'resources', 'limits')
  if (limits === undefined || !isObject(container)) return container
  const resources = objectAt(container, 'resources')
  return { ...container, resources: { ...resources, requests: { ...limits, ...objectAt(resources, 'requests') } } }
}

/** Adds tolerations that keep a pod on a lost node for five minutes, unless the pod has such tolerations. */
function withTolerations(spec: JsonMap): Json[] {
  const tolerations = [...listAt(spec, 'tolerations')]
  for (const condition of ['not-ready', 'unreachable']) {
    const key = `node.kubernetes.io/${condition}`
    if (tolerations.some((toleration) => (textAt(toleration, 'key') ?? key) === key)) continue
    tolerations.push({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: TOLERATION_SECONDS })
  }
  return tolerations
}

function qualityOf(spec: JsonMap): string {
  const resources = listAt(spec, 'containers').map((container) => objectAt(container, 'resources') ?? {})
  const amounts = (each: JsonMap, field: string): JsonMap => objectAt(each, field) ?? {}
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

/** Returns the new spec with the old values of changeable fields. A valid update makes it equal to the old spec. */
function fixedSpec(object: ApiObject, old: ApiObject): JsonMap {
  const spec = objectAt(object, 'spec') ?? {}
  let fixed: JsonMap = { ...spec }
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

/** Fills the fields of a pod's spec that follow from other fields, in addition to the defaults of the types. */
function withSpecDefaults(spec: JsonMap): JsonMap {
  // `serviceAccount` is the old name of `serviceAccountName`. The server sets both.
  const account = spec['serviceAccountName'] ?? spec['serviceAccount']
  const containers = ['containers', 'initContainers'].filter((field) => spec[field] !== undefined)
  return {
    ...spec,
    ...(account === undefined ? {} : { serviceAccount: account }),
    ...Object.fromEntries(containers.map((field) => [field, listAt(spec, field).map(withPullPolicy)])),
    ...(spec['volumes'] === undefined ? {} : { volumes: listAt(spec, 'volumes').map(withSource) }),
  }
}

function withPullPolicy(container: Json): Json {
  const image = textAt(container, 'image') ?? ''
  const tag = /:([^/@:]+)(?:@|$)/.exec(image)?.[1] ?? (image.includes('@') ? 'pinned' : 'latest')
  return { imagePullPolicy: tag === 'latest' ? 'Always' : 'IfNotPresent', ...Object(container) }
}

/** Adds the source `emptyDir` to a volume without a source. */
function withSource(volume: Json): Json {
  const named = isObject(volume) && Object.keys(volume).every((key) => key === 'name')
  return named ? { ...volume, emptyDir: {} } : volume
}
