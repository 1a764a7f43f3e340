import { at } from '../json.ts'
import type { Strategy } from './strategy.ts'

export const leaseStrategy: Strategy = {
  anyFinalizer: true,
  validate(problems, object) {
    const duration = at(object, 'spec', 'leaseDurationSeconds')
    if (typeof duration === 'number' && duration <= 0) {
      problems.invalid('spec.leaseDurationSeconds', duration, 'must be greater than 0')
    }
    const transitions = at(object, 'spec', 'leaseTransitions')
    if (typeof transitions === 'number' && transitions < 0) {
      problems.invalid('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')
    }
    if ((at(object, 'spec', 'preferredHolder') ?? '') !== '' && (at(object, 'spec', 'strategy') ?? '') === '') {
      problems.forbidden('spec.preferredHolder', 'may only be specified if `strategy` is defined')
    }
  },
}
