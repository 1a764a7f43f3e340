import type { ConformanceCase, Step } from './case.ts'
import { CORE, configMap, IN_DEFAULT } from './objects.ts'

const CONFIGS = `${IN_DEFAULT}/configmaps`

const made = (name: string, labels: Readonly<Record<string, string>> = { set: 'one' }): Step => ({
  ask: `POST ${CONFIGS}`,
  body: configMap(name, { metadata: { name, labels } }),
})
const labelled = (name: string, labels: object): Step => ({
  ask: `PATCH ${CONFIGS}/${name}`,
  merge: { metadata: { labels } },
})
const select = (selector: string): Step => ({
  ask: `GET ${CONFIGS}?labelSelector=${encodeURIComponent(selector)}`,
  only: ['kind', 'message', 'items.0.metadata.name', 'items.1.metadata.name', 'items.2.metadata.name', 'items.3'],
})
const ONE = 'labelSelector=set%3Done'
const START = { ask: `GET ${CONFIGS}?labelSelector=nothing`, keep: 'start' }
const NAMES = ['metadata', 'items.0.metadata.name', 'items.1.metadata.name', 'items.2', 'reason']

export const LIST_CASES: readonly ConformanceCase[] = [
  {
    name: 'label selectors',
    steps: [
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
  },
  {
    name: 'field selectors',
    steps: [
      made('f-a'),
      made('f-b'),
      { ask: `GET ${CONFIGS}?${ONE}&fieldSelector=metadata.name%3Df-a`, only: NAMES },
      { ask: `GET ${CONFIGS}?${ONE}&fieldSelector=metadata.name%21%3Df-a`, only: NAMES },
      {
        ask: `GET ${CORE}/configmaps?${ONE}&fieldSelector=metadata.namespace%3Ddefault,metadata.name%3Df-b`,
        only: NAMES,
      },
      { ask: `GET ${CONFIGS}?${ONE}&fieldSelector=data.x%3D1` },
      { ask: `GET ${CONFIGS}?fieldSelector=nonsense` },
      { ask: `GET ${CORE}/persistentvolumes?fieldSelector=spec.x%3D1` },
      { ask: `GET ${CORE}/secrets?fieldSelector=spec.x%3D1` },
    ],
  },
  {
    name: 'pages',
    steps: [
      made('p-a'),
      made('p-b'),
      made('p-c'),
      { ask: `GET ${CONFIGS}?${ONE}&limit=2`, only: NAMES, keep: 'page' },
      { ask: `DELETE ${CONFIGS}/p-c`, only: ['status'] },
      { ask: `GET ${CONFIGS}?${ONE}&limit=2&continue=@page.metadata.continue`, only: NAMES },
      {
        ask: `GET ${CONFIGS}?${ONE}&limit=2&continue=@page.metadata.continue&resourceVersion=5`,
        only: ['code', 'reason', 'message'],
      },
      { ask: `GET ${CONFIGS}?${ONE}&limit=2&continue=nonsense`, only: ['code', 'reason'] },
      { ask: `GET ${CONFIGS}?${ONE}&limit=many`, only: ['code', 'reason'] },
      { ask: `GET ${CONFIGS}?${ONE}&resourceVersion=0`, only: ['items.0.metadata.name', 'kind', 'apiVersion'] },
      { ask: `GET ${CONFIGS}?${ONE}&resourceVersion=x`, only: ['code', 'reason'] },
      { ask: `GET ${CONFIGS}?${ONE}&resourceVersionMatch=Exact`, only: ['code', 'reason', 'message'] },
      {
        ask: `GET ${CONFIGS}?${ONE}&resourceVersionMatch=Exact&resourceVersion=0`,
        only: ['code', 'reason', 'message'],
      },
      {
        ask: `GET ${CONFIGS}?${ONE}&resourceVersionMatch=Exact&resourceVersion=@page.metadata.resourceVersion`,
        only: NAMES,
      },
      {
        ask: `GET ${CONFIGS}?${ONE}&resourceVersionMatch=NotOlderThan&resourceVersion=@page.metadata.resourceVersion`,
        only: NAMES,
      },
      {
        ask: `GET ${CONFIGS}?${ONE}&resourceVersionMatch=Never&resourceVersion=1`,
        only: ['code', 'reason', 'message'],
      },
      {
        ask: `GET ${CONFIGS}?${ONE}&resourceVersion=99999999`,
        only: ['code', 'reason', 'details.causes', 'details.retryAfterSeconds'],
      },
      { ask: `GET ${CONFIGS}/p-a?resourceVersion=99999999`, only: ['code', 'reason', 'details.causes'] },
    ],
  },
  {
    name: 'a watch from a version',
    steps: [
      START,
      made('w-a'),
      labelled('w-a', { more: 'x' }),
      labelled('w-a', { set: 'two' }),
      labelled('w-a', { set: 'one' }),
      { ask: `DELETE ${CONFIGS}/w-a` },
      {
        ask: `GET ${CONFIGS}?watch=true&${ONE}&resourceVersion=@start.metadata.resourceVersion&timeoutSeconds=5`,
        frames: 5,
      },
    ],
  },
  {
    name: 'a watch of what is there',
    steps: [
      made('w-a'),
      made('w-b'),
      { ask: `GET ${CONFIGS}?watch=1&${ONE}&timeoutSeconds=5`, frames: 2 },
      { ask: `GET ${CONFIGS}?watch=true&${ONE}&resourceVersion=0&timeoutSeconds=5`, frames: 2 },
      { ask: `GET ${CONFIGS}?watch=true&fieldSelector=metadata.name%3Dw-b&timeoutSeconds=5`, frames: 1 },
      { ask: `GET ${CORE}/watch/namespaces/default/configmaps/w-a?timeoutSeconds=5`, frames: 1 },
      {
        ask: `GET ${CONFIGS}?watch=true&${ONE}&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5`,
        frames: 3,
      },
      {
        ask: `GET ${CONFIGS}?watch=true&${ONE}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5`,
        frames: 2,
      },
      { ask: `GET ${CONFIGS}?watch=true&${ONE}&sendInitialEvents=true&timeoutSeconds=5` },
      { ask: `GET ${CONFIGS}?watch=true&${ONE}&resourceVersionMatch=NotOlderThan&timeoutSeconds=5` },
      { ask: `GET ${CONFIGS}?watch=true&${ONE}&resourceVersion=x&timeoutSeconds=5`, only: ['code', 'reason'] },
    ],
  },
  {
    name: 'a watch sees finalizers go',
    steps: [
      START,
      {
        ask: `POST ${CONFIGS}`,
        body: configMap('w-a', { metadata: { name: 'w-a', labels: { set: 'one' }, finalizers: ['a/b'] } }),
      },
      { ask: `DELETE ${CONFIGS}/w-a` },
      { ask: `PATCH ${CONFIGS}/w-a`, merge: { metadata: { finalizers: null, labels: { last: 'word' } } } },
      {
        ask: `GET ${CONFIGS}?watch=true&${ONE}&resourceVersion=@start.metadata.resourceVersion&timeoutSeconds=5`,
        frames: 3,
      },
    ],
  },
]
