import type { FieldErrors } from '../http/field-errors.ts'
import { at, type JsonObject, type KubeObject, listAt, objectAt, sameJson, textAt, withMeta } from '../schema/json.ts'
import { selects } from '../storage/selectors.ts'
import { checkContainers } from './pod.ts'
import { withSpecDefaults } from './pod-defaults.ts'
import type { Strategy } from './strategy.ts'

export const deploymentStrategy: Strategy = {
  countsAnnotations: true,
  defaults: (object) =>
    withWorkload(object, (spec) => ({
      progressDeadlineSeconds: 600,
      replicas: 1,
      revisionHistoryLimit: 10,
      ...spec,
      strategy: withRollingUpdate(spec['strategy'], { maxSurge: '25%', maxUnavailable: '25%' }),
    })),
  validate: (errors, object) => checkWorkload(errors, object, 'deployment'),
  validateUpdate: checkSameSelector,
}

export const replicaSetStrategy: Strategy = {
  defaults: (object) => withWorkload(object, (spec) => ({ replicas: 1, ...spec })),
  // The message says deployment here, as that of the real server.
  validate: (errors, object) => checkWorkload(errors, object, 'deployment'),
  validateUpdate: checkSameSelector,
}

export const daemonSetStrategy: Strategy = {
  defaults: (object) =>
    withWorkload(object, (spec) => ({
      revisionHistoryLimit: 10,
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
  validateUpdate: checkSameSelector,
}

const TEMPLATE_GENERATION = 'deprecated.daemonset.template.generation'

/** Counts the changes of the template, as it did before there were generations. */
function withTemplateGeneration(object: KubeObject, generation: number): KubeObject {
  const annotations = { ...object.metadata.annotations, [TEMPLATE_GENERATION]: String(generation) }
  return withMeta(object, { annotations })
}

export const statefulSetStrategy: Strategy = {
  defaults: (object) =>
    withWorkload(object, (spec) => ({
      podManagementPolicy: 'OrderedReady',
      replicas: 1,
      revisionHistoryLimit: 10,
      ...spec,
      persistentVolumeClaimRetentionPolicy: {
        whenDeleted: 'Retain',
        whenScaled: 'Retain',
        ...objectAt(spec, 'persistentVolumeClaimRetentionPolicy'),
      },
      updateStrategy: withRollingUpdate(spec['updateStrategy'], { partition: 0 }),
      ...(spec['volumeClaimTemplates'] === undefined
        ? {}
        : {
            volumeClaimTemplates: listAt(spec, 'volumeClaimTemplates').map((claim) => withClaimDefaults(Object(claim))),
          }),
    })),
  validate(errors, object) {
    checkWorkload(errors, object, 'statefulset')
    const policy = textAt(object, 'spec', 'podManagementPolicy')
    if (policy !== 'OrderedReady' && policy !== 'Parallel') {
      errors.invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'")
    }
  },
  validateUpdate(errors, object, old) {
    const fixed = { ...objectAt(object, 'spec'), ...changeable(old) }
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

function changeable(object: KubeObject): JsonObject {
  return Object.fromEntries(CHANGEABLE.map((field) => [field, at(object, 'spec', field)]))
}

function withClaimDefaults(claim: JsonObject): JsonObject {
  return {
    ...claim,
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    spec: { volumeMode: 'Filesystem', ...objectAt(claim, 'spec') },
    status: { phase: 'Pending', ...objectAt(claim, 'status') },
  }
}

function withWorkload(object: KubeObject, defaults: (spec: JsonObject) => JsonObject): KubeObject {
  const spec = objectAt(object, 'spec') ?? {}
  const template = objectAt(spec, 'template') ?? {}
  const templated = { ...template, spec: withSpecDefaults(objectAt(template, 'spec') ?? {}) }
  return { ...object, spec: { ...defaults(spec), template: templated } }
}

function withRollingUpdate(strategy: JsonObject[string], defaults: JsonObject): JsonObject {
  const type = textAt(strategy, 'type') || 'RollingUpdate'
  if (type !== 'RollingUpdate') return { ...objectAt(strategy), type }
  return { ...objectAt(strategy), type, rollingUpdate: { ...defaults, ...objectAt(strategy, 'rollingUpdate') } }
}

function checkWorkload(errors: FieldErrors, object: KubeObject, said: string): void {
  errors.notBelow('spec.replicas', at(object, 'spec', 'replicas'), [0, 'must be greater than or equal to 0'])
  const selector = objectAt(object, 'spec', 'selector')
  const labels = objectAt(object, 'spec', 'template', 'metadata', 'labels') as Readonly<Record<string, string>>
  if (selector === undefined) errors.required('spec.selector')
  else if (Object.keys(selector).length === 0) {
    errors.invalid('spec.selector', selector, `empty selector is invalid for ${said}`)
  }
  if (selector === undefined || !selects(selector, labels ?? {})) {
    errors.invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`')
  }
  checkContainers(errors, object, ['spec', 'template', 'spec'])
  const policy = textAt(object, 'spec', 'template', 'spec', 'restartPolicy') ?? ''
  errors.oneOf('spec.template.spec.restartPolicy', policy, ['Always'])
}

function checkSameSelector(errors: FieldErrors, object: KubeObject, old: KubeObject): void {
  errors.unchanged('spec.selector', at(object, 'spec', 'selector'), at(old, 'spec', 'selector'))
}
