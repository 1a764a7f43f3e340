import { describe, expect, it } from '@jest/globals'
import { ApiError, isMissing, isOutdated, UNPROCESSABLE } from './api/api-error.ts'

const error = (code: number, reason: string, field?: string): ApiError =>
  new ApiError({ code, reason, message: 'no', ...(field !== undefined && { details: { causes: [{ field }] } }) })

describe('isMissing', () => {
  it.each<[name: string, error: unknown, missing: boolean]>([
    ['is missing if no object has its name', error(404, 'NotFound'), true],
    ['is missing if another object has its name', error(422, 'Invalid', 'metadata.uid'), true],
    ['exists if the server refuses the patch as invalid', error(422, 'Invalid', 'status.x'), false],
    ['exists if it has changed', error(409, 'Conflict'), false],
    ['may exist if the server does not answer', new Error('metadata.uid'), false],
  ])('the target of a patch %s', (_what, thrown, missing) => expect(isMissing(thrown)).toBe(missing))
})

describe('isOutdated', () => {
  const invalid = (message: string): ApiError => new ApiError({ code: 422, reason: 'Invalid', message })

  it.each<[name: string, error: unknown, outdated: boolean]>([
    ['is outdated if the object has changed', error(409, 'Conflict'), true],
    ['is outdated if a test of its JSON patch fails', invalid(UNPROCESSABLE), true],
    ['is outdated if another object has the name', error(422, 'Invalid', 'metadata.uid'), true],
    ['is not outdated if a field is invalid', error(422, 'Invalid', 'status.x'), false],
    ['is not outdated if a webhook refuses it', invalid('admission webhook "x" denied the request: no'), false],
    ['is not outdated if the object is gone', error(404, 'NotFound'), false],
    ['is not outdated if the object exists already', error(409, 'AlreadyExists'), false],
    ['is not outdated if the server does not answer', new Error('Conflict'), false],
  ])('a refused write %s', (_what, thrown, outdated) => expect(isOutdated(thrown)).toBe(outdated))
})
