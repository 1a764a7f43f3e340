import type { FieldErrors } from '../http/field-errors.ts'
import { at, type JsonObject, type KubeObject, objectAt, sameJson, textAt, withMeta, withSpec } from '../schema/json.ts'
import { selects } from '../storage/selectors.ts'
import { podSpec } from './pod.ts'
import { withSpecDefaults } from './pod-defaults.ts'
import { all, fields, notBelow, oneOf } from './rules.ts'
import type { Strategies, Strategy } from './strategy.ts'

const deployment: Strategy = {
  countsAnnotations: true,
  defaults: (object) =>
    withWorkload(object, (spec) => ({
      ...spec,
      strategy: withRollingUpdate(spec['strategy'], { maxSurge: '25%', maxUnavailable: '25%' }),
    })),
  validate: (errors, object) => checkWorkload(errors, object, 'deployment'),
  fixed: ['spec.selector'],
}

const replicaSet: Strategy = {
  defaults: (object) => withWorkload(object, (spec) => spec),
  // The message says deployment here, as that of the real server.
  validate: (errors, object) => checkWorkload(errors, object, 'deployment'),
  fixed: ['spec.selector'],
}

const daemonSet: Strategy = {
  defaults: (object) =>
    withWorkload(object, (spec) => ({
      ...spec,
      updateStrategy: withRollingUpdate(spec['updateStrategy'], { maxSurge: 0, maxUnavailable: 1 }),
    })),
  prepareCreate: (object) => withTemplateGeneration(object, 1),
  prepareUpdate(object, old) {
    const before = Number(old.metadata.annotations?.[TEMPLATE_GENERATION] ?? 1)
    const same = sameJson(at(object, 'spec', 'template'), at(old, 'spec', 'template'))
    return withTemplateGeneration(object, same ? before : before + 1)
  },
  validate: (errors, object) => checkWorkload(errors, object, 'daemonset'),
  fixed: ['spec.selector'],
}

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

/** Counts the changes of the template, as it did before there were generations. */
function withTemplateGeneration(object: KubeObject, generation: number): KubeObject {
  const annotations = { ...object.metadata.annotations, [TEMPLATE_GENERATION]: String(generation) }
  return withMeta(object, { annotations })
}

const statefulSet: Strategy = {
  defaults: (object) =>
    withWorkload(object, (spec) => ({
      ...spec,
      updateStrategy: withRollingUpdate(spec['updateStrategy'], { partition: 0 }),
    })),
  validate(errors, object) {
    checkWorkload(errors, object, 'statefulset')
    const policy = textAt(object, 'spec', 'podManagementPolicy')
    if (policy !== 'OrderedReady' && policy !== 'Parallel') {
      errors.invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'")
    }
  },
  validateUpdate(errors, object, old) {
    const changeable = Object.fromEntries(CHANGEABLE.map((field) => [field, at(old, 'spec', field)]))
    const fixed = { ...objectAt(object, 'spec'), ...changeable }
    if (!sameJson(fixed, objectAt(old, 'spec'))) errors.forbidden('spec', STATEFUL_SET_FIXED)
  },
}

const CHANGEABLE = [
  'minReadySeconds',
  'ordinals',
  'persistentVolumeClaimRetentionPolicy',
  'replicas',
  'revisionHistoryLimit',
  'template',
  'updateStrategy',
]
const STATEFUL_SET_FIXED =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', " +
  "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

function withWorkload(object: KubeObject, defaults: (spec: JsonObject) => JsonObject): KubeObject {
  return withSpec(object, (spec) => {
    return { ...defaults(spec), template: withSpec(objectAt(spec, 'template') ?? {}, withSpecDefaults) }
  })
}

function withRollingUpdate(strategy: JsonObject[string], defaults: JsonObject): JsonObject {
  const type = textAt(strategy, 'type') || 'RollingUpdate'
  if (type !== 'RollingUpdate') return { ...objectAt(strategy), type }
  return { ...objectAt(strategy), type, rollingUpdate: { ...defaults, ...objectAt(strategy, 'rollingUpdate') } }
}

function checkWorkload(errors: FieldErrors, object: KubeObject, said: string): void {
  notNegative(errors, 'spec.replicas', at(object, 'spec', 'replicas'))
  const selector = objectAt(object, 'spec', 'selector')
  const labels = objectAt(object, 'spec', 'template', 'metadata', 'labels') as Readonly<Record<string, string>>
  if (selector === undefined) errors.required('spec.selector')
  else if (Object.keys(selector).length === 0) {
    errors.invalid('spec.selector', selector, `empty selector is invalid for ${said}`)
  }
  if (selector === undefined || !selects(selector, labels ?? {})) {
    errors.invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`')
  }
  madePod(errors, 'spec.template.spec', at(object, 'spec', 'template', 'spec'))
}

const notNegative = notBelow(0, 'must be greater than or equal to 0')
const madePod = all(podSpec, fields({ restartPolicy: oneOf('Always') }))

const podDisruptionBudget: Strategy = {
  validate(errors, object) {
    const [least, most] = ['minAvailable', 'maxUnavailable'].map((field) => at(object, 'spec', field))
    if (least !== undefined && most !== undefined) {
      errors.invalid('spec', object['spec'], 'minAvailable and maxUnavailable cannot be both set')
    }
  },
}

export const APPS: Strategies = {
  DaemonSet: daemonSet,
  Deployment: deployment,
  PodDisruptionBudget: podDisruptionBudget,
  ReplicaSet: replicaSet,
  StatefulSet: statefulSet,
}
