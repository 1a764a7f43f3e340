import { at } from '../schema/json.ts'
import type { Strategy } from './strategy.ts'

export const leaseStrategy: Strategy = {
  anyFinalizer: true,
  validate(errors, object) {
    const [duration, transitions] = [at(object, 'spec', 'leaseDurationSeconds'), at(object, 'spec', 'leaseTransitions')]
    errors.notBelow('spec.leaseDurationSeconds', duration, [1, 'must be greater than 0'])
    errors.notBelow('spec.leaseTransitions', transitions, [0, 'must be greater than or equal to 0'])
    if ((at(object, 'spec', 'preferredHolder') ?? '') !== '' && (at(object, 'spec', 'strategy') ?? '') === '') {
      errors.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined')
    }
  },
}
