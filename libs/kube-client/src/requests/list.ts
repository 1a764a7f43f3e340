import { type Clock, inBatches, messageOf } from '@csi-sidecars/base'
import { type Resource, resourcePath } from '@csi-sidecars/kube-types'
import { ApiError } from '../api/api-error.ts'
import { type ListOptions, type ListPage, type Projecting, query } from '../api/client.ts'
import { decodeList, type ListHead, NoListError } from '../codec/list-decoder.ts'
import { ACCEPT_PROTOBUF, decodeListMessage, isProtobuf } from '../codec/protobuf.ts'
import type { ApiAnswer } from './call.ts'
import type { Transport } from './transport.ts'

/** The default page size. A list of thousands needs few requests, and a page needs little memory. */
const DEFAULT_PAGE_SIZE = 500

/**
 * Returns the pages of a list, as `KubeClient.list` promises. Does not send a `resourceVersion`: with `0` the server
 * answers from its cache and ignores the page size.
 */
export async function* listPages<T, P>(
  { transport, clock }: { readonly transport: Transport; readonly clock: Clock },
  resource: Resource<T>,
  options: ListOptions & Projecting<T, P>,
): AsyncGenerator<ListPage<P>, void, void> {
  const { pageSize = DEFAULT_PAGE_SIZE, fieldSelector, labelSelector, namespace } = options
  const root = resourcePath(resource, { namespace })
  let token: string | undefined
  do {
    const limit = pageSize === 0 ? undefined : pageSize
    const path = root + query({ continue: token, fieldSelector, labelSelector, limit })
    const accept = options.message === undefined ? undefined : ACCEPT_PROTOBUF
    const answer = await transport.fetch({ method: 'GET', path, resource, accept, options })
    const page = await decodePage(answer, { path, clock, ...options })
    token = page.continue
    yield page
  } while (token !== undefined)
}

interface PageOptions<T, P> extends Projecting<T, P> {
  readonly path: string
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

async function decodePage<T, P>(answer: ApiAnswer, options: PageOptions<T, P>): Promise<ListPage<P>> {
  const { path, clock, signal } = options
  const items: P[] = []
  let head: ListHead
  try {
    const { body, contentType } = answer
    const { message } = options
    const isMessage = message !== undefined && isProtobuf(contentType)
    const list = isMessage ? decodeListMessage(body, message) : decodeList(body.toString('utf8'))
    head = list.head
    const project = (object: unknown): void => {
      const projected = options.project(object as T)
      if (projected !== undefined) items.push(projected)
    }
    await inBatches(list.objects, project, { clock, signal })
  } catch (error) {
    if (!(error instanceof NoListError)) throw error
    throw noListError(path, messageOf(error))
  }
  // JSON that a proxy sends must not count as an empty list.
  if (head.resourceVersion === undefined) throw noListError(path, 'there is no resourceVersion')
  return { items, resourceVersion: head.resourceVersion, continue: head.continue }
}

function noListError(path: string, why: string): ApiError {
  return new ApiError({ code: 0, reason: '', message: `the answer to ${path} is no list: ${why}` })
}
