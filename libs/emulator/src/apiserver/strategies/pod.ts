import type { FieldErrors } from '../http/field-errors.ts'
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
  withSpec,
} from '../schema/json.ts'
import { label } from './names.ts'
import { withSpecDefaults } from './pod-defaults.ts'
import { checkVolumes } from './pod-volumes.ts'
import type { Strategy } from './strategy.ts'

const TOLERATION_SECONDS = 300
const UPDATABLE =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions ' +
  'to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

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
  validate: checkPod,
  validateUpdate(errors, object, old) {
    if (!sameJson(fixedSpec(object, old), objectAt(old, 'spec'))) {
      errors.forbidden('spec', `pod updates may not change fields other than ${UPDATABLE}`)
    }
  },
}

/** What a pod limits it requests, unless it requests less. */
function withAllRequests(spec: JsonObject): JsonObject {
  const fields = ['containers', 'initContainers'].filter((field) => spec[field] !== undefined)
  return { ...spec, ...Object.fromEntries(fields.map((field) => [field, listAt(spec, field).map(withRequests)])) }
}

function withRequests(container: Json): Json {
  const limits = objectAt(container, 'resources', 'limits')
  if (limits === undefined || !isObject(container)) return container
  const resources = objectAt(container, 'resources')
  return { ...container, resources: { ...resources, requests: { ...limits, ...objectAt(resources, 'requests') } } }
}

/** A pod stays five minutes on a node that is lost, unless its tolerations say otherwise. */
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

function checkPod(errors: FieldErrors, object: KubeObject): void {
  checkContainers(errors, object, ['spec'])
  const policy = textAt(object, 'spec', 'restartPolicy') ?? ''
  errors.oneOf('spec.restartPolicy', policy, ['Always', 'OnFailure', 'Never'])
}

/** Containers and volumes of a pod spec, which is at `place` in an object. */
export function checkContainers(errors: FieldErrors, object: KubeObject, place: readonly string[]): void {
  const containers = listAt(object, ...place, 'containers')
  const root = place.join('.')
  const volumes = checkVolumes(errors, root, listAt(object, ...place, 'volumes'))
  if (containers.length === 0) errors.required(`${root}.containers`)
  const names = new Set<string>()
  containers.forEach((container, index) => {
    const path = `${root}.containers[${index}]`
    const name = textAt(container, 'name') ?? ''
    if (errors.needed(`${path}.name`, name)) errors.checked(`${path}.name`, name, label)
    errors.unique(`${path}.name`, name, names)
    errors.needed(`${path}.image`, textAt(container, 'image'))
  })
  checkMounts(errors, root, { names: volumes, containers })
}

function checkMounts(
  errors: FieldErrors,
  root: string,
  { names, containers }: { readonly names: ReadonlySet<string>; readonly containers: readonly Json[] },
): void {
  containers.forEach((container, at) => {
    listAt(container, 'volumeMounts').forEach((mount, index) => {
      const path = `${root}.containers[${at}].volumeMounts[${index}]`
      const name = textAt(mount, 'name') ?? ''
      if (errors.needed(`${path}.name`, name) && !names.has(name)) errors.notFound(`${path}.name`, name)
      errors.needed(`${path}.mountPath`, textAt(mount, 'mountPath'))
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
