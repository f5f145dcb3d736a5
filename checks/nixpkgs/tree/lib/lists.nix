# Lists.
{ lib }:
let
  inherit (builtins)
    concatMap
    elem
    elemAt
    filter
    foldl'
    genList
    head
    length
    tail
    ;
in
{
  inherit (builtins)
    all
    any
    concatLists
    concatMap
    elem
    elemAt
    filter
    foldl'
    genList
    groupBy
    head
    length
    map
    partition
    sort
    tail
    ;

  singleton = x: [ x ];
  optional = condition: x: if condition then [ x ] else [ ];
  optionals = condition: list: if condition then list else [ ];
  toList = x: if builtins.isList x then x else [ x ];
  last = list: elemAt list (length list - 1);
  init = list: genList (elemAt list) (length list - 1);
  take = n: list: genList (elemAt list) (lib.min n (length list));
  drop = n: list: genList (i: elemAt list (i + n)) (lib.max 0 (length list - n));
  range = first: final: if first > final then [ ] else genList (n: first + n) (final - first + 1);
  imap0 = f: list: genList (n: f n (elemAt list n)) (length list);
  imap1 = f: list: genList (n: f (n + 1) (elemAt list n)) (length list);
  reverseList =
    list:
    let
      n = length list;
    in
    genList (i: elemAt list (n - i - 1)) n;
  foldr =
    f: start: list:
    if list == [ ] then start else f (head list) (lib.foldr f start (tail list));
  count = f: list: length (filter f list);
  remove = x: filter (y: y != x);
  subtractLists = without: filter (x: !elem x without);
  intersectLists = other: filter (x: elem x other);
  unique = foldl' (seen: x: if elem x seen then seen else seen ++ [ x ]) [ ];
  allUnique = list: length (lib.unique list) == length list;
  findFirst =
    f: otherwise: list:
    let
      found = filter f list;
    in
    if found == [ ] then otherwise else head found;
  flatten = x: if builtins.isList x then concatMap lib.flatten x else [ x ];
  sortOn = key: builtins.sort (a: b: key a < key b);
  zipListsWith =
    f: a: b:
    genList (n: f (elemAt a n) (elemAt b n)) (lib.min (length a) (length b));
}
