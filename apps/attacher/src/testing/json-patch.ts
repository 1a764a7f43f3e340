import { apiError } from './api-error.ts'

interface Operation {
  readonly op: string
  readonly path: string
  readonly value?: unknown
}

/** The JSON patches that the attacher makes: all of them are about the list of finalizers, of one very object. */
export function patchedFinalizers(
  { finalizers: before, uid }: { finalizers?: readonly string[]; uid?: string },
  operations: readonly Operation[],
): readonly string[] | undefined {
  let finalizers = before
  for (const { op, path, value } of operations) {
    if (path === '/metadata/uid') {
      if (op !== 'test' || value !== uid) throw refused()
      continue
    }
    const part = path.replace('/metadata/finalizers', '').slice(1)
    const list = [...(finalizers ?? [])]
    const index = Number(part)
    if (op === 'test') {
      const found = (part === '' ? finalizers : list[index]) ?? null
      if (JSON.stringify(found) !== JSON.stringify(value)) throw refused()
    } else if (op === 'add' && part === '-') {
      if (finalizers === undefined) throw refused()
      finalizers = [...list, value as string]
    } else if (op === 'remove') {
      finalizers = list.toSpliced(index, 1)
    } else if (part === '') {
      finalizers = value as string[]
    } else throw refused()
  }
  return finalizers
}

function refused(): Error {
  return apiError(422, 'Invalid', 'the server rejected our request due to an error in our request')
}
