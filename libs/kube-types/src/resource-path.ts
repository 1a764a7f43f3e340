import { apiVersionOf, type Resource } from './resources.ts'

/** The part of a resource that a request is about: all of it, one namespace's, one object, a part of one. */
export interface PathRef {
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

/**
 * The URL path of a request.
 * Throws on a name that would make it the path of something else: an empty one turns one object into the whole list.
 */
export function resourcePath(resource: Resource<unknown>, ref: PathRef): string {
  const parts = [resource.group === '' ? 'api' : 'apis', apiVersionOf(resource)]
  if (resource.namespaced && ref.namespace !== undefined) parts.push('namespaces', segment('namespace', ref.namespace))
  parts.push(resource.plural)
  if (ref.name !== undefined) parts.push(segment('name', ref.name))
  if (ref.subresource !== undefined) {
    if (ref.name === undefined) throw new Error('resource name may not be empty')
    parts.push(segment('subresource', ref.subresource))
  }
  return `/${parts.join('/')}`
}

function segment(what: string, text: string): string {
  if (text === '') throw new Error(`resource ${what} may not be empty`)
  if (text === '.' || text === '..') throw new Error(`invalid resource ${what} "${text}": [may not be '${text}']`)
  for (const mark of ['/', '%']) {
    if (text.includes(mark)) throw new Error(`invalid resource ${what} "${text}": [may not contain '${mark}']`)
  }
  return encodeURIComponent(text)
}
