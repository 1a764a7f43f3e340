import type { CaseStep, Cases } from './case.ts'
import { CORE, configMap, IN_DEFAULT } from './objects.ts'
import { get, merge, post, remove } from './steps.ts'

const CONFIGS = `${IN_DEFAULT}/configmaps`

const made = (name: string, labels: Readonly<Record<string, string>> = { set: 'one' }): CaseStep =>
  post(CONFIGS, configMap(name, { metadata: { name, labels } }))
const labelled = (name: string, labels: object): CaseStep => merge(`${CONFIGS}/${name}`, { metadata: { labels } })
const select = (selector: string): CaseStep =>
  get(`${CONFIGS}?labelSelector=${encodeURIComponent(selector)}`, {
    only: ['kind', 'message', 'items.0.metadata.name', 'items.1.metadata.name', 'items.2.metadata.name', 'items.3'],
  })
const ONE = 'labelSelector=set%3Done'
const START = get(`${CONFIGS}?labelSelector=nothing`, { keep: 'start' })
const NAMES = ['metadata', 'items.0.metadata.name', 'items.1.metadata.name', 'items.2', 'reason']

export const LIST_CASES: Cases = {
  'label selectors': [
    made('l-a', { set: 'one', size: '1' }),
    made('l-b', { set: 'two', size: '10' }),
    made('l-c', { set: 'two', 'a.b/c': 'd' }),
    select('set'),
    select('set=one'),
    select('set==two'),
    select('set,set!=one'),
    select('set in (one,three)'),
    select('set,size notin (1)'),
    select('set,!size'),
    select('size>1'),
    select('size<5'),
    select('a.b/c=d'),
    select('set=one,size=10'),
    { ...select('set in one'), only: ['code', 'reason'] },
    { ...select('=x'), only: ['code', 'reason'] },
    { ...select('a b'), only: ['code', 'reason'] },
  ],
  'field selectors': [
    made('f-a'),
    made('f-b'),
    get(`${CONFIGS}?${ONE}&fieldSelector=metadata.name%3Df-a`, { only: NAMES }),
    get(`${CONFIGS}?${ONE}&fieldSelector=metadata.name%21%3Df-a`, { only: NAMES }),
    get(`${CORE}/configmaps?${ONE}&fieldSelector=metadata.namespace%3Ddefault,metadata.name%3Df-b`, { only: NAMES }),
    get(`${CONFIGS}?${ONE}&fieldSelector=data.x%3D1`),
    get(`${CONFIGS}?fieldSelector=nonsense`),
    get(`${CORE}/persistentvolumes?fieldSelector=spec.x%3D1`),
    get(`${CORE}/secrets?fieldSelector=spec.x%3D1`),
  ],
  pages: [
    made('p-a'),
    made('p-b'),
    made('p-c'),
    get(`${CONFIGS}?${ONE}&limit=2`, { only: NAMES, keep: 'page' }),
    remove(`${CONFIGS}/p-c`, { only: ['status'] }),
    get(`${CONFIGS}?${ONE}&limit=2&continue=@page.metadata.continue`, { only: NAMES }),
    get(`${CONFIGS}?${ONE}&limit=2&continue=@page.metadata.continue&resourceVersion=5`, {
      only: ['code', 'reason', 'message'],
    }),
    get(`${CONFIGS}?${ONE}&limit=2&continue=nonsense`, { only: ['code', 'reason'] }),
    get(`${CONFIGS}?${ONE}&limit=many`, { only: ['code', 'reason'] }),
    get(`${CONFIGS}?${ONE}&resourceVersion=0`, { only: ['items.0.metadata.name', 'kind', 'apiVersion'] }),
    get(`${CONFIGS}?${ONE}&resourceVersion=x`, { only: ['code', 'reason'] }),
    get(`${CONFIGS}?${ONE}&resourceVersionMatch=Exact`, { only: ['code', 'reason', 'message'] }),
    get(`${CONFIGS}?${ONE}&resourceVersionMatch=Exact&resourceVersion=0`, { only: ['code', 'reason', 'message'] }),
    get(`${CONFIGS}?${ONE}&resourceVersionMatch=Exact&resourceVersion=@page.metadata.resourceVersion`, { only: NAMES }),
    get(`${CONFIGS}?${ONE}&resourceVersionMatch=NotOlderThan&resourceVersion=@page.metadata.resourceVersion`, {
      only: NAMES,
    }),
    get(`${CONFIGS}?${ONE}&resourceVersionMatch=Never&resourceVersion=1`, { only: ['code', 'reason', 'message'] }),
    get(`${CONFIGS}?${ONE}&resourceVersion=99999999`, {
      only: ['code', 'reason', 'details.causes', 'details.retryAfterSeconds'],
    }),
    get(`${CONFIGS}/p-a?resourceVersion=99999999`, { only: ['code', 'reason', 'details.causes'] }),
  ],
  'a watch from a version': [
    START,
    made('w-a'),
    labelled('w-a', { more: 'x' }),
    labelled('w-a', { set: 'two' }),
    labelled('w-a', { set: 'one' }),
    remove(`${CONFIGS}/w-a`),
    get(`${CONFIGS}?watch=true&${ONE}&resourceVersion=@start.metadata.resourceVersion&timeoutSeconds=5`, { frames: 5 }),
  ],
  'a watch of what is there': [
    made('w-a'),
    made('w-b'),
    get(`${CONFIGS}?watch=1&${ONE}&timeoutSeconds=5`, { frames: 2 }),
    get(`${CONFIGS}?watch=true&${ONE}&resourceVersion=0&timeoutSeconds=5`, { frames: 2 }),
    get(`${CONFIGS}?watch=true&fieldSelector=metadata.name%3Dw-b&timeoutSeconds=5`, { frames: 1 }),
    get(`${CORE}/watch/namespaces/default/configmaps/w-a?timeoutSeconds=5`, { frames: 1 }),
    get(
      `${CONFIGS}?watch=true&${ONE}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5`,
      { frames: 3 },
    ),
    get(`${CONFIGS}?watch=true&${ONE}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5`, {
      frames: 2,
    }),
    get(`${CONFIGS}?watch=true&${ONE}&sendInitialEvents=true&timeoutSeconds=5`),
    get(`${CONFIGS}?watch=true&${ONE}&resourceVersionMatch=NotOlderThan&timeoutSeconds=5`),
    get(`${CONFIGS}?watch=true&${ONE}&resourceVersion=x&timeoutSeconds=5`, { only: ['code', 'reason'] }),
  ],
  'a watch sees finalizers go': [
    START,
    post(CONFIGS, configMap('w-a', { metadata: { name: 'w-a', labels: { set: 'one' }, finalizers: ['a/b'] } })),
    remove(`${CONFIGS}/w-a`),
    merge(`${CONFIGS}/w-a`, { metadata: { finalizers: null, labels: { last: 'word' } } }),
    get(`${CONFIGS}?watch=true&${ONE}&resourceVersion=@start.metadata.resourceVersion&timeoutSeconds=5`, { frames: 3 }),
  ],
}
