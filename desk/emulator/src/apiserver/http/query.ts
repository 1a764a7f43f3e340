import { badRequest } from './api-failure.ts'

export function numberIn(query: URLSearchParams, key: string): number | undefined {
  const text = query.get(key)
  if (text === null || text === '') return undefined
  const value = Number(text)
  if (!Number.isSafeInteger(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`)
  }
  return value
}

export function revisionIn(text: string): number {
  if (!/^\d+$/.test(text))
    throw badRequest(`invalid resource version: strconv.ParseUint: parsing "${text}": invalid syntax`)
  return Number(text)
}
