import { describe, expect, it } from '@jest/globals'
import { ApiError, isMissing } from './api/api-error.ts'

const error = (code: number, reason: string, field?: string): ApiError =>
  new ApiError({ code, reason, message: 'no', ...(field !== undefined && { details: { causes: [{ field }] } }) })

describe('isMissing', () => {
  it.each<[what: string, error: unknown, missing: boolean]>([
    ['is missing if no object has its name', error(404, 'NotFound'), true],
    ['is missing if another object has its name', error(422, 'Invalid', 'metadata.uid'), true],
    ['exists if the server refuses the patch as invalid', error(422, 'Invalid', 'status.x'), false],
    ['exists if it has changed', error(409, 'Conflict'), false],
    ['may exist if the server does not answer', new Error('metadata.uid'), false],
  ])('the target of a patch %s', (_what, thrown, missing) => expect(isMissing(thrown)).toBe(missing))
})
