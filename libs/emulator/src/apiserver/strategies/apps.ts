import type { FieldErrors } from '../http/field-errors.ts'
import { at, type JsonObject, type KubeObject, objectAt, sameJson, textAt } from '../schema/json.ts'
import { selects } from '../storage/selectors.ts'
import { checkContainers, withSpecDefaults } from './pod.ts'
import type { Strategy } from './strategy.ts'

export const deploymentStrategy: Strategy = {
  defaults(object) {
    const spec = objectAt(object, 'spec') ?? {}
    const template = objectAt(spec, 'template') ?? {}
    return {
      ...object,
      spec: {
        progressDeadlineSeconds: 600,
        replicas: 1,
        revisionHistoryLimit: 10,
        ...spec,
        strategy: withRollingUpdate(objectAt(spec, 'strategy') ?? {}),
        template: { ...template, spec: withSpecDefaults(objectAt(template, 'spec') ?? {}) },
      },
    }
  },
  validate: checkDeployment,
  validateUpdate(errors, object, old) {
    const selector = at(object, 'spec', 'selector')
    if (!sameJson(selector, at(old, 'spec', 'selector'))) {
      errors.invalid('spec.selector', selector, 'field is immutable')
    }
  },
}

function withRollingUpdate(strategy: JsonObject): JsonObject {
  const type = textAt(strategy, 'type') || 'RollingUpdate'
  if (type !== 'RollingUpdate') return { ...strategy, type }
  const rollingUpdate = { maxSurge: '25%', maxUnavailable: '25%', ...objectAt(strategy, 'rollingUpdate') }
  return { ...strategy, type, rollingUpdate }
}

function checkDeployment(errors: FieldErrors, object: KubeObject): void {
  const replicas = at(object, 'spec', 'replicas')
  if (typeof replicas === 'number' && replicas < 0) {
    errors.invalid('spec.replicas', replicas, 'must be greater than or equal to 0')
  }
  const selector = objectAt(object, 'spec', 'selector')
  const labels = objectAt(object, 'spec', 'template', 'metadata', 'labels') as Readonly<Record<string, string>>
  if (selector === undefined) errors.required('spec.selector')
  else if (Object.keys(selector).length === 0) {
    errors.invalid('spec.selector', selector, 'empty selector is invalid for deployment')
  }
  if (selector === undefined || !selects(selector, labels ?? {})) {
    errors.invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`')
  }
  checkContainers(errors, object, ['spec', 'template', 'spec'])
  const policy = textAt(object, 'spec', 'template', 'spec', 'restartPolicy')
  if (policy !== 'Always') errors.unsupported('spec.template.spec.restartPolicy', policy, ['Always'])
}

export const podDisruptionBudgetStrategy: Strategy = {
  validate(errors, object) {
    const [least, most] = ['minAvailable', 'maxUnavailable'].map((field) => at(object, 'spec', field))
    if (least !== undefined && most !== undefined) {
      const why = 'minAvailable and maxUnavailable cannot be both set'
      errors.invalid('spec', object['spec'], why)
    }
  },
}
