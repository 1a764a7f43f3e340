import { describe, expect, it } from '@jest/globals'
import { ApiError, isMissing } from './api/api-error.ts'

const error = (code: number, reason: string, field?: string): ApiError =>
  new ApiError({ code, reason, message: 'no', ...(field !== undefined && { details: { causes: [{ field }] } }) })

describe('what a patch was meant for', () => {
  it.each<[what: string, error: unknown, missing: boolean]>([
    ['is missing when the server knows none', error(404, 'NotFound'), true],
    ['is missing when the server knows another one', error(422, 'Invalid', 'metadata.uid'), true],
    ['is there when the server does not like the patch', error(422, 'Invalid', 'status.x'), false],
    ['is there when it has changed', error(409, 'Conflict'), false],
    ['may be there when there is no answer', new Error('metadata.uid'), false],
  ])('%s', (_what, thrown, missing) => expect(isMissing(thrown)).toBe(missing))
})
