import { apiError } from './api-error.ts'

interface Operation {
  readonly op: string
  readonly path: string
  readonly value?: unknown
}

/** What a JSON patch makes of an object: the operations that the attacher uses, refused as the API server refuses them. */
export function applyJsonPatch<T extends object>(object: T, operations: readonly Operation[]): T {
  const result = structuredClone(object)
  for (const { op, path, value } of operations) {
    const keys = path.split('/').slice(1).map(unescaped)
    const last = keys.pop() ?? ''
    const parent = keys.reduce<unknown>((each, key) => (each as Record<string, unknown> | undefined)?.[key], result)
    if (typeof parent !== 'object' || parent === null) throw refused()
    const found = (parent as Record<string, unknown>)[last]
    if (op === 'test') {
      if (JSON.stringify(found ?? null) !== JSON.stringify(value)) throw refused()
    } else if (op === 'remove') {
      if (found === undefined) throw refused()
      if (Array.isArray(parent)) parent.splice(Number(last), 1)
      else delete (parent as Record<string, unknown>)[last]
    } else if (Array.isArray(parent)) {
      if (op !== 'add' || last !== '-') throw refused()
      parent.push(value)
    } else {
      ;(parent as Record<string, unknown>)[last] = structuredClone(value)
    }
  }
  return result
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

function refused(): Error {
  return apiError(422, 'Invalid', 'the server rejected our request due to an error in our request')
}
