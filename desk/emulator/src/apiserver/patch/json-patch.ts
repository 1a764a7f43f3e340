import { badRequest, unprocessable } from '../http/api-failure.ts'
import { isList, isObject, type Json, type JsonMap, sameJson, setOwn } from '../schema/json.ts'

/** The largest number of operations in one JSON patch, as in kube-apiserver. */
const MAX_OPERATIONS = 10_000

type Change = (parent: Json, key: string) => Json

/** Applies a JSON patch (RFC 6902). Throws 422, without details, if an operation is impossible or a `test` fails. */
export function applyJsonPatch(target: Json, patch: Json): Json {
  if (!isList(patch)) throw badRequest('json: cannot unmarshal object into Go value of type jsonpatch.Patch')
  if (patch.length > MAX_OPERATIONS) {
    throw badRequest(`The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`)
  }
  return patch.reduce<Json>((document, operation) => {
    if (!isObject(operation)) throw badRequest('json: cannot unmarshal into Go value of type jsonpatch.Operation')
    return applyOperation(document, operation)
  }, target)
}

function applyOperation(document: Json, operation: JsonMap): Json {
  const { op, value } = operation
  const path = pointer(operation['path'])
  switch (op) {
    case 'add':
      return changeAt(document, path, adder(operandOf(value)))
    case 'replace':
      return changeAt(document, path, replacer(operandOf(value)))
    case 'remove':
      return changeAt(document, path, remover)
    case 'test':
      if (!sameJson(valueOrNull(document, path), value ?? null)) throw unprocessable()
      return document
    case 'move': {
      const from = pointer(operation['from'])
      const movedValue = valueAt(document, from)
      return changeAt(changeAt(document, from, remover), path, adder(movedValue))
    }
    case 'copy':
      return changeAt(document, path, adder(valueOrNull(document, pointer(operation['from']))))
    default:
      throw unprocessable()
  }
}

/** Returns the value of an operation. A missing value means null. */
function operandOf(value: Json | undefined): Json {
  return value ?? null
}

function pointer(path: Json | undefined): readonly string[] {
  if (path === '') return []
  if (typeof path !== 'string' || !path.startsWith('/')) throw unprocessable()
  return path
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function valueAt(document: Json, path: readonly string[]): Json {
  let here: Json = document
  for (const step of path) here = child(here, step)
  return here
}

/** Returns the value at a path. A missing key of an existing object counts as null. */
function valueOrNull(document: Json, path: readonly string[]): Json {
  const last = path.at(-1)
  if (last === undefined) return document
  const parent = valueAt(document, path.slice(0, -1))
  if (isObject(parent) && !Object.hasOwn(parent, last)) return null
  return child(parent, last)
}

function child(parent: Json, step: string): Json {
  if (isList(parent)) return parent[indexIn(parent, step)] as Json
  if (isObject(parent) && Object.hasOwn(parent, step)) return parent[step] ?? null
  throw unprocessable()
}

function changeAt(document: Json, path: readonly string[], change: Change): Json {
  const [step, ...rest] = path
  if (step === undefined) return rootOf(change({ '': document }, ''))
  if (rest.length === 0) return change(document, step)
  return replacer(changeAt(child(document, step), rest, change))(document, step)
}

/** Returns the patched document from `holder`. Throws 422 if the patch has removed the document. */
function rootOf(holder: Json): Json {
  const document = isObject(holder) ? holder[''] : undefined
  if (document === undefined) throw unprocessable()
  return document
}

function adder(value: Json): Change {
  return (parent, key) => {
    if (!isList(parent)) return replacer(value)(parent, key)
    const index = key === '-' ? parent.length : indexIn(parent, key, parent.length)
    return [...parent.slice(0, index), value, ...parent.slice(index)]
  }
}

/** Returns a change that sets a key. Like the Go library, it also sets a key that did not exist before. */
function replacer(value: Json): Change {
  return (parent, key) => {
    if (isList(parent)) return parent.with(indexIn(parent, key), value)
    if (!isObject(parent)) throw unprocessable()
    const copy: Record<string, Json | undefined> = { ...parent }
    setOwn(copy, key, value)
    return copy
  }
}

const remover: Change = (parent, key) => {
  if (isList(parent)) return parent.toSpliced(indexIn(parent, key), 1)
  if (!isObject(parent) || !Object.hasOwn(parent, key)) throw unprocessable()
  const { [key]: _removed, ...rest } = parent
  return rest
}

/** Reads the index of a list. A negative index counts from the end, as in the Go library. */
function indexIn(list: readonly Json[], step: string, highest = list.length - 1): number {
  if (!/^(0|-?[1-9]\d*)$/.test(step)) throw unprocessable()
  const index = Number(step) < 0 ? Number(step) + list.length : Number(step)
  if (index < 0 || index > highest) throw unprocessable()
  return index
}
