import { readFileSync } from 'node:fs'
import { isJsonObject } from '@csi-sidecars/kube-types'
import { get, readValues, VALUES_FILE, type Values } from '../tests/values.ts'

/** A key of values.yaml, or a section of keys, with its comment. */
export interface DocumentedValue {
  /** The path from the root: `attacher.image.tag`. */
  readonly key: string
  /** The comment of the key. Empty if there is no comment. */
  readonly description: string
  readonly default: unknown
  /** True if keys in the section have comments, too. */
  readonly isSection: boolean
}

/** Returns the keys of values.yaml in order. Nested keys without any comment are part of the value above them. */
export function documentedValues(): readonly DocumentedValue[] {
  const values = readValues(VALUES_FILE)
  const comments = commentsIn(readFileSync(VALUES_FILE, 'utf8'))
  return keysOf(values, '', [...comments.keys()]).map((key) => ({
    key,
    description: comments.get(key) ?? '',
    default: get(values, key),
    isSection: hasBelow(key, [...comments.keys()]),
  }))
}

function keysOf(values: Values, above: string, commented: readonly string[]): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const key = above === '' ? name : `${above}.${name}`
    return isJsonObject(value) && hasBelow(key, commented) ? [key, ...keysOf(value, key, commented)] : [key]
  })
}

function hasBelow(key: string, keys: readonly string[]): boolean {
  return keys.some((each) => each.startsWith(`${key}.`))
}

/**
 * Returns the comments by key. A comment belongs to the key in the line after it, and begins with two hyphens, as the
 * program helm-docs expects it.
 */
function commentsIn(text: string): ReadonlyMap<string, string> {
  const comments = new Map<string, string>()
  const path: string[] = []
  let lines: string[] = []
  for (const line of text.split('\n')) {
    const [, indent = '', begins, comment, key] = /^( *)(?:# (-- )?(.*)|([a-zA-Z]+):.*)$/.exec(line) ?? []
    if (begins !== undefined) lines = [comment ?? '']
    else if (comment !== undefined && lines.length > 0) lines.push(comment)
    else if (key !== undefined) {
      path.splice(indent.length / 2, path.length, key)
      if (lines.length > 0) comments.set(path.join('.'), lines.join(' ').replace(/ +/g, ' '))
      lines = []
    } else lines = []
  }
  return comments
}
