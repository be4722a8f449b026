// The readable text of a page, in parts. The HTML is read by htmlparser2 (MIT) and entities (BSD-2-Clause), see NOTICE: the next line is
// theirs, made by scripts/build-htmlparser. All that follows it is ours.
var htmlparser2=(()=>{var K=Object.defineProperty;var lt=Object.getOwnPropertyDescriptor;var dt=Object.getOwnPropertyNames;var Rt=Object.prototype.hasOwnProperty;var mt=(e,t)=>{for(var i in t)K(e,i,{get:t[i],enumerable:!0})},bt=(e,t,i,a)=>{if(t&&typeof t=="object"||typeof t=="function")for(let r of dt(t))!Rt.call(e,r)&&r!==i&&K(e,r,{get:()=>t[r],enumerable:!(a=lt(t,r))||a.enumerable});return e};var xt=e=>bt(K({},"__esModule",{value:!0}),e);var kt={};mt(kt,{Parser:()=>V});var gt=[8364,0,8218,402,8222,8230,8224,8225,710,8240,352,8249,338,0,381,0,0,8216,8217,8220,8221,8226,8211,8212,732,8482,353,8250,339,0,382,376];function tt(e){return e===0||e>=55296&&e<=57343||e>1114111}function et(e){return tt(e)?65533:e>=128&&e<=159&&gt[e-128]||e}function it(e){return tt(e)?65533:e}var I=(()=>{let e=new Uint8Array(127),t=0;for(let i=33;i<=126;i++)i!==34&&i!==36&&i!==92&&(e[i]=t++);return e})();function st(e,t,i,a,r,u){let f=e.length,l=u*90,c=0,p=()=>{let m=I[e.charCodeAt(c++)];return m<u?m:m*91-l+I[e.charCodeAt(c++)]},q=i-a,C=i+r,R=new Int32Array(C);R.fill(-1,a,u),R.fill(-1,u+q,C);let A=new Int32Array(C),v=new Int32Array(C);function L(m,S){let x=0,T=S,k=S+m;for(;T<k;){let B=I[e.charCodeAt(c++)];if(B<89)x+=B,R[T++]=x;else if(B===89){let D=I[e.charCodeAt(c++)]+2;for(;D--;)R[T++]=++x}else{let D=I[e.charCodeAt(c++)];x+=89+(D<90?D*91+I[e.charCodeAt(c++)]:I[e.charCodeAt(c++)]*8281+I[e.charCodeAt(c++)]*91+I[e.charCodeAt(c++)]),R[T++]=x}}}L(a,0),L(q,u);let J=new Int32Array(r*2),U=0,G=0;function F(m,S){for(let x=0;x<m;x++){let T=S+x,k=p(),B=p();J[G*2]=k,J[G*2+1]=B,G+=1,A[T]=U;let D=(R[k]<0?v[k]:1)+(R[B]<0?v[B]:1);v[T]=D,U+=D}}F(r-u+a,u+q),F(u-a,a);let Z=new Uint16Array(U),Q=0;for(let m=0;m<G;m++)for(let S=0;S<2;S++){let x=J[m*2+S],T=R[x];if(T<0){let k=A[x],B=k+v[x];for(;k<B;)Z[Q++]=Z[k++]}else Z[Q++]=T}let H=new Uint16Array(t),$=0;for(;c<f;){let m=I[e.charCodeAt(c++)];m>=u&&(m=m*91-l+I[e.charCodeAt(c++)]);let S=R[m];if(S<0){let x=A[m],T=x+v[m];for(;x<T;)H[$++]=Z[x++]}else H[$++]=S}return H}var P=st("!}.&u%}'&}*'~!6*)%&,~!J~!J~%L~y<~!R,~~%Lu~~#GD~~#|)1#%}^%}2%+#.##%##%}&%##%'#%##&%#%#'%#&#%#&#'#%%#&#%##%#)%''%&%#%#'%#%%#%%}%%%#%#&(23#%%#&-%0%('1#(##%#'##+%'*.:1}#%#6-+(%'%%#%%%}#L'2351&('%}&/N'(0(/*-%(%%}#'+&T%7.2}#&%&#%#36/5##%&%%#&#%%#))2%%##%&&'0~!#*+&'%1~!%).'3q?&%'1~!.##%6(~!+%%%(Gw'rT~!E#<nA%#jZ~!H%(~!42##~!*31&~!G%U~#)5~#`3~!J~!Z~%]~%Y~%C~!q~!u~#kz~%#~!6'~!D~!U~!?~#T~!c%~!G#'~%7|~!G~!J~!G&~#pb~(Df}#%}*&}#%##%##%##&#-}&'#'&%#.++}%mI,#,@&(}*%}*'%&##&#%##%}&0}#.},U},%}+%}&%}#%##&}B%(}(%}+%)})%##%#&}&%##%&}<%}>%#%&}*%}(%}9%}/%})%}*%}*%}?&}&%}3%}&*#%})%#%#)}#&#-#+*%E%%'%'#%}#*V##&##I}#&&##%&%#&&Qf%%))w/0+&%#(#.%-''''++++7}>%4'',##1,#%#&%##&#'##&#*#9)%&%}#*}%,#+P(%A&%#'&##wSD',9E00#y#@}(+}&%&>~!#~!X}#*}(&&}(&}(,%}%&#+&}#&}I%#%}%)#(},'%#*}4%%#%}(''}#/##(##),%-##%%)#&}(.}&%#&}%%}*&#%},&&}&%}#%*'#%})%}D&}&%}-&}6&#&}-,%}#%})-(~+`~,=?~I9'9%~!,#%})%})%}@%}?%}(~!?~#<~#pP~#BG~#=1#%K+~#?#~%;)~#A~#mF1~#A'~'X%'~#lR~#N~'N~#r~#m#-~#i'?%#'%~#B%##%,%#~#_%#0%~#]732~,w~2+#:&#%&'0%&>%}#>##F+)#%&&#(+_}4&}-%}(&}@&}O7Fdf0@+/v4}&WU##&/0#&'('B#%}.%}'+#%}#%%&#&%#%##+#&#)#6#'#.},%}c%},%#%##%&#&%#&~#>'*-.%##%##%}#%%}%'~#)D1}#%*&~#_%%'(~#S2%'.}#~#=##*'*-%}&'%'##&&~'E%.#&~#M4}%%##&'%#~#O1##%&#'+~#<B%##%%'%+~#;#@%}#&%#&&%#(~#H1}'%'##&&~#?A}&'~#D#%32}'&&&&~#[}'(#%}'~#;C})&}%%#%~#=&%,3}%'(#%%~#^'#&&)#%'~#Y%-~#d-%'~#^%%&#&&&}#~#b~2t*&'~&(~&@~0%~e~3}%*''0})&}+~!9##-}#%-hD*)1fC#%/&/fB#40~!+#)*4~!+~!K'&:~!/*7~!.#~!H~!L':~%x&~!H#~!*~%1~!I#~!+A~#p'~!F~~#-#~,,(~.Z~!V~%;'B'mq-W~!N~%I%#&&#&}#%},%%}'%}+X#%}#&}(%}'%}<%}#%}%%'}'%}:~![)9@~%>~#UA%-%##&~!C%~!-.9:~!1~!-^2/:a~!y,D*J#-5)/4~%23,~#G~!L1~!0X3`~!2+~!!0-~&E~!W~!o,>Y&]~%cZx_&~#O*9#A#'#+I'%#)~!0B*-5A+-((F&*M#)(-7-5+'-3a5Vi~!Y~!?+[)%3),ERHm~!+:D,VG.+)?fB%%*(%)'(#&80%1'8`K8?`+'Z#&O&'H5#*9)A%%5&3))0%39+.*7#()&&*=4@**L)<'_&*+..;(#*+)./&0#3)%')-8(4ixD(&.}%,('aI:,)%,k2231T)I'#/-W7,/'Q#.'Y24+h')37</31&83##&0#),H(?'&?/1##%#&&#%''-%&&&#(&''&#.-'%#%%(,')*'&#&#'##%(%(#%('#&##%%%%('%#%#%%#%#&%##h>w+v<ayvyvcg.uuhKr}g/v|g>u9i[~>g5uI~=RvdwEg;v/g;uk!!TTSx]@RT!U!#!@VBRUU!'UTe-d0c`e&gSdicedFcrdTaqb.kYcAohdYd@a3e+d}dMdtd.aJ#bqcK`dle/e.e'dwdPdodddjbEb}ogd^ofdpduc6j?l%d{drdqc)d7bacOdQ%T#Y)X.sR[yH>6Vyv3[xwLu>vo'!*.[yBacahoj>6Rew3[xqdZa#!a&#^(X-[yG>6Vyu3[xvg3sEr|g.u/Ri9db0T#^(Xa)!-[y;>6Vylg4wKs{JwNZt3@3r=c4Z([xlg;wKt!cpq's@v7A'*a(a+!-a#[y<3Dt?3Dt'>6Vym3[xmg9rxsNJwLZt4~?r?db1T#`-!(Xa,!0[yS>6Vz%NuQs.g4wKtnJwNZtS@3r>c4Z([y%g;wKtrdga8!a(!#&T*Y-Xa#!a0<or[yc3Dtq>6Vz43[y3JwNZtf@3s!Ju}!%Dti:pm3c_%X#tjB5pkd6q!r]u?voC'*-a.a2!0a&a+[yI3DtI3Ds~3DtH>6Vyw3[xx;:s#~<5pKJwNZtE@3r~d`a)!a2T#a.(!+U.X1[yT3Dt`3Dtv>6Vz&3[y&g9rxwzcxstPu.<rAJwLZtT~?r@dZa%!a.&^*Za(/Reu[ya>6Vz23[y1g3sEr}wkg{NuQRg{ci(U#5@b`~,cg#U(2WnH5wugcRh7dX#T(Y,a'Ta!!a,[yZ<]mj>6Vz,3[y+Pv#5ReZKu+=,%!H}7ABwkaS?Rh:BcW(X#<]mrj:ubv/ARekdg%!(!a.*Ta(Y.X1!#sP>Rl*Dt6[y>>6Vyo3Wf*jOvuumvuRgRJuq*!:9<B@bX~3jVv&v@s@5Re[d/rQt{uAvo&a&a*)a2!,0Wf!3Dt0=Bs'>6Re}3[xy~<5s%JwJZt1~Gs)c;&!#2sJkNuXvzq7rxu,Re8dka4!a8(aEZ+a@Y.X1Xa)[yd=Bs(3DtP>6Vz53[y4cX#X&Re:avRe9~<5s&JwJZtQ~Gs*i^rzvdRg+Jv{%!2sbB@bX}kdga,!Za?&^*T1/!a'Dt+[y6>6Vyf3Wf%g/u;s4hGu6?Rh-JvZ,!c%#&RoX54Rivj7uyvf8RgTKvZB%*!2sGh<vu5Rgq<=C::9bb~#dZ#T&Ta6Y.X*Dt>[y93Wf)coZ(T,6VyifluvRgC@95@B@bX~/hFu34cC#T,k/unq8w8Q5RkUklwQuzunq8w8Q5Rk8d/rJu?v8w9)-&!a0a;a&aIWejg3sEr/h1s<DtDJvyZqY5aws3Jvy!&Wei~Hr1:au5@Bag>23E~5c:Z&bX};kKv?w&unuVu5Rjc;>bs)#~@:Rh.=ay<a]C;b`}Vd6s/t{uAvoaxa()!a,a7%-a#a2Dt,[yF2Wo[>6Vyt3[xuNuPRi&NuPwpi#RoWh?vf8Ri%Jv]!%Ri:KvxD!.'2WeAjZu`q9rxu,Re7woeAg-unLq(qA_/*2Wg_g3u5q^9:4E}/jTrxrzv=Wkkd~0UX#^^Xa-a1a5T&a=U1a'*aEa]!a*aPaA-adok[y54Rn>;:p3~Dp5g9rpsFNvZqjg3uJp4~<5p0Pw;5qlJwNZt*@3p1Pw:5p/Ou!5p2JvG'!6Vye=<qnJvh_[xhg3v,Rh3kOwOw-sDuev/Re^dha[a%!%!a+#Ta7)-5TaCaO!aka!a)sf[yb2>Rl!9ARiq5E}Qg=ucRkBE|oJrJ_@Wk~@Wk{JrJ_@Wk|@WkyJrJ_@Wk}@WkzJvO_[y2g-vMRmiKuYC!)&>Ri;>Ri<@3RkNc](X#@9Rk=g5vuRmhKvDB!+'=]meg3u4Rmgd)#Y'Vz3CARmfd`a+!%T'!+#Ta1Ta6TaM-sTDt9[yA9sYd'%Y#s[[xpj:ueunaXRgEjRq,v-vuqdd2'`#6Rev<32@5>:2<E}5xIo9a*X#Y(;5RePJvD_g>vyRgNj8w)v8<wggs:RgXiZt|vjx,hSq3ah!-(~@:Ro/Ou!5RhWj^v(pyw8unRhUdx-UY#^Ua.a3a70!)%UX1TaDa)'omRiRRhE[y:3Dsz=Br,>6Vyj3[xkg6ruwjcqsrPw;5r*Ku]D'Zt-@3r(~?r.i[vwv]dU1a--U#`a4(g/vsRhPOu!5RhLj:rmu9Wo!~@:wdh@g/vsRiTjXuvvNr}:RhBj^v(pyw8unRn]dz1UYa'a+^Y(!aETZalaRY.Ta?a4[yDJw1!#qLsW>6Vyrfzq-pLflpwRe|Js>%!Dt@3Dt&Jvy_[xs~HrnjMuwpsw'RecKu+D#'!t<~Grl~?rjg5u-x,gwp{ah!-(~@:Rg~Ou!5Rh'jXuvvNr}:Rh#cW#X/c;&!#2sLi[v7u7RgpJv)(!iLrxu,Re6j7v@s@5Se[e7d`aW!Za(a`T.a#!a3!&aDa-!9)Dt_=6s+3[x~~DR|h~DS6avhGun5RkZj3w)v-]mkKunB!&*]kb97R|i<ARk<c:Z(6Vy}Juh'!wziMRoS:F|vkLuauJv5vtvQRh1d='T+Y#VyO~DR|jcF#T'7R|g97R|kJv3'!ay<Rj,Jvh&!:ReXcsa6*a+#a#_aIRf9aLRf?c,Z&Rf5Rf7c.Z&Rf;Rf>cQ#%T'p-Rf8Rf=ct#%'(*!,p,Rf4p+Rf6Rf:Rf<d~'Ua%U*^UYa(!a,-!#a4YaTalaEX0a8a<Weo3Dt/3Dsx=Br93Wen~Dr;~<5p<JwNZt2@3p=Pw:5p;Ou!5r3c7&!#:p>3Ds}KvGB)_6Vyk2sM=<r7x'eovA(!hFu1ARf}cV#X&@r5j6rvwQa^Rf3c=Za'wkghJv__g;unRggA53B9=b^}%j6uduo5Jq;!(hIv%2Re`Ou4ARe_e%a#^^^Xa&!a*a2!&a6YaP!*ad!#a:aE/5Rn?[y@>6Vyp;:pE~DrY~<5pBJwNZt8@3pCh=rt3rWPw:5pAJup_[xoNuPpF9c!#'45pD5ARn)d8#X'X*3@rU72s]h>v<<sSjJpqvewOJq/(!hNw'5ReBk0s2u3w/w'5ReE5@Jq.!a+JQ!&WeU23d(#Y&RjG5]jBk!u7w&u0udARjEe#+^^^Ub#!a2/a`Z(agT1!a-a;|@TaG!aS[yV=Re~fow'RguNuPRe?bz#'>RoUWeL>:Cbb|?JwPZtVg6ruRmzJvD'!6Vz(g/vmRh~Jvy_[y(g9voRgyx*cy(#2>Ri2B9b]~9kIw9u7rluJu3Rg]dI#a%UY'@=p%CAx.gQZ&RhwwygtRm{x5g_Z'+ABqR9Woa=Bp&dV#^*Xa'!&@o{g4v]Rk;Jv{!%Rk[wkkiA5RkiwwfUB=x,fUuqC&*!>RfTg8v0RfV~ARfSd;rJsAuAv9wR'ae+/aO!a@aza/a#[yQ@Wg!2Wemg3sEr0JvB_g>uvReWg2v+Re=KupB_+[y!2AbY~-~Hr2AJwD!(h<~El>h<~El?Kun@+_:9b`}Kg-v/Ri3g;vtwyk_9]k_d=&T#*U.6qh@Ab`|K9:H|CJv[!&3Dtex'fDwC%!Rf[9WlMd[(^X,!a%Z06Vz!@WgBg=v~Rgvg,QRe@awd,#Y+jTv|Q~EfWj]uNr|~FRfXdy#Y&^Ua%!aO.!(a)Ua;=!a@aKap!a-,a!Ta]a[rSa]p?[y82sK=Bq~;:p:~<5p8Pw:5p7d'#Y'Wf(;RnRi[u4w&RgJJvG'!6Vyh=<r#ijuuv/sIKuYD'ZtG@3p9~Gr&d2#`(g<vtRgFj`u5w&rqpxRf2CJuY!+:wfnTOu!5Rg}jNs1ucv&RfwJvA!&3@q|BDcC#T,k/unq8w8Q5RkTklwQuzunq8w8Q5Rk9dga#!a'!a=#a0!:+Tb*b@aO.a4!aba8aFJv^}?!VyR~Dr<g;u%Rn.~<5p[x'e`wNZtR@3p]Pw:5pZhNvjBp.woe_g5u-r4JwF!%DtO3:ooc7&!#:p^3DtpLuGw(!+%)Dtk6Vz#2sd=<r8d'#Y([y#<x3gJt`w@!)%}MRiowzikRij=]ilxAf3,U(#B2Rf#g0v-Rm[ck{`U#]giKv3>)!&6Ri154s,KuGB_%@r68r:dJ|t`#X(9<E|u2@H|rx3gJu?w'!+'1Nu7Reg4=H~+9<wxgY95Rm]xLggZ-`(X}U2:Ri4h<uOawRmsJv__5@bb{jbV~3dka#a'a]!,#a+U=a>b6a3b%!/aKa/)!arwve^VyJ;:pR~DpTg3uJpS~<5pOPw;5qmPw:5pNOu!5pQJvG'!6Vyx=<qoJvA!{~Jup!%@qk7Rn/KvyD!}''[xz;>wkh'?Rh,x8gyt`w5D!&),(SgyccRgztJ@3pPB5p#d'(Y#<]mmifubw&RgoJvE&!82s^JvF&!8Rf,ADb]~;x=h'rNu]vK!,%'*0RnORh)4Rh*AqQg-vaRnNg;wHwkh'ba~4cE#Ta*x3gctyw@'!+%RnFRnD<4Rn@hFvK5RnCxWg[#`&a0Ua()`1Rm75Rg[c]%X#qi8Rg^NvdRj>BwzgZauwji7Rm6A4wgg]d1#&(*,.0a#Rm;Rm<Rm=Rm>Rm?Rm@RmARmBe%#^^^Xaea?aC/b+(,!a+a#!a/!>a&Ta<aKbD!2wphBRnk[yPw}hE|.=Br-3Dtm>6Vy~g6urRf.x,hPrNav!%'RnqRo%Ro#Nu;q[Pw;5r+JwNZtM@3r)d'#Y'Weh;xChL#`&RnmRnoKu}>%(!Rne~Bs-;2wjcussJv+'!aYSO}6@B<5?ba~8LrNvj!.%*ROwungw~ng~:9;Ri^>wtnig;wHRnixDh@|(UZ.x1h@|)!#:2<H|*xHn]#-UX'3Ro)z=iT}6ARns=Bwsn_wpnaRncw]aR(#UXa&Ua*a/=]iPd'#Y&Ro'WnXf{QRm2hNvj]nZd`'T~&1`{|`#9b]{}c:'!#Wl{>@=be}]?cl{{U#:5Abb}Jds#^YaF!a*b4a#a3aPa>&Tb!bH!*a_!Eau?/a&RjY<]gj>6Vz*;:pe~DrZg,QRj1JwNZtX@wihspcJvZ&!VyX9WmOJu|!|N2WmHJvh&!]ht~Bpbcn&T(!#RmQ<s7Nu;padH#X'`+WmJ@>RmKCARhnKup=!)&Wf+:RhqNuPpf9c!#'45pd5AwghpARn(Ls@w!%,)!RmP@Wfe<E|IJva!&WmNg8vsRmLd`*.`#Y'Xa!axRn*]hrA8Rhug5s@rXg8u!RmMd8#X'X*3@rV72smdI*#UY&RmICARho~GsgxVgd)Ta'U-Y&Xa!T#RnEWnA@Wffg1uDRi0hFvK5RnBxGnG&#`%owp)@wsf+bX}Ze-*1!a*^^^Ua|!#a.aq&Ya2!a>.a6!a:aO`aJDtL[y`@Wg#>6Vz12@wzoYRoZNuPRi!NuPRhzg=ucRi,@=b`{Yg=ucRi-ACJvB!&Sh[ebSh]ebi`wUuFRm4Jw2_[y0JvB!.<Ju(!&SoG}6Shd}6<Ju(!&SoH}6She}6Kur@._g5vHRieJvx!{L2G{Kx6gd'T#?Rh82Wi5cZ#X(g1w)Rm5dW-Y(Ta#!a)!#aYa=wnfE=su2>>bU{0j9udv:<svj8uQv-7RgHdE%#^'sq9sp=>Bb_{TJv`!&g/r|snj6v(us5d,#Y(56H}[978H}]Jw5!&g1rushJvB!+j;v{u5?zDhd}6}bj;v{u5?zDhe}6}ce*#`(^^^a[aea!=!a6a*aoXb1a.!aAbL!b>,b'aL!aV@Wf|2Wlg3[y/JwNZt^@3piPw:5pgJunZou3@rsJva&!Vy_g<v~Rm#JvG'!6Vz0=<r{Ju{%!:pj@WfsiXuJu3Rm:JvZ&!WfA~Bph@c4Z&Dtwax5rubx(#:awRk1@d,#Y&RfjRfid1#,Y(@Wfp2Wlrg5s@ryKu[@!,'=]ig9wlk?Rk>g5u-rqJvy'!@9RkQcH(T#=>Ri~@<wkj(Wj(KuZB*!&<7rw@9RkRcH(T#=>Ri}@<wkj)Wj)dg(Ta2Xa9X#`-!a*CARhg@@=I}d9x;c~#X%so=<sj>2@@=aybb}XjWv0Q~EfEj3vLv;<d,#Y(56H}`978H}_dgaPaFa'a/!#a3Y0a_a;a|!1(a7-[yE3[xt;:pJNvZrrg3uJrvJwNZt=@3pIh=rt3rxPw:5pGOu!5rpJvG'!6Vys=<rz@c4Z&Dt(ax5rtJvZ!&~BpH@wsfNg-vaRlNci*U#=<wei<F}a5@Jq.!a*JQ!%@qZ23d(#Y&RjH5]jCk!u7w&u0udARjFd/prq=tyvpaEa(a:.!a1aZ(@@=I}:9wpd%=<sX55w_h}@@=I{t=ay<aU@@=I}T=ay<2@@=I})?C9:9au@9Cb]}DP~=x-fAZ(2Wl1=ay<aU@@=I}>5@d##Y+jTv|vV~EfFj]uNpn~FRfGdgaK!Z2&!a8a-Tb({E!acTbM*!a(DtY[yYd'%Y#sl[y*hHvh>Re5x2c{Z}.j4uCvcawRiMd+#X+_x&d!},<5RkX;2Hzw@x,gavfB-!{CcF&T#Roe;RodwWbBg5urRgaKvHC*_6Vz+<4opieuew&Rmq@d]&Y)X,T#X0Rh}<BqP=4qS9:ReMg/ujReNJw0!/<Jui%!bd{kawwnemRelAxUa?a3#*.&UX(Ya+a/RhvRnQ<o}9Wmtd-#Y&RgSRmw9;Rmxay=Rmyg-vaRmuxEhSrNu,v-voC!%(aR.a(a7+1Ro1>Ro5CE{A9b]{@;5x#eO{:g;urRi+KrNA!%(Ro3>Ro79;Ri_Ku@>{;&!x%gX|{KunA_+g5QRj/g3u5Rj#g>uERj%wio/xRhS&!,!#^1U}wba{8>>@=be}qC@:D5ba{7Ku+A&!}x?ba}t>>@=be}se(aA^^^Uat!b0#{pa+awUazbGa#aLb9bgaWac'a5TbS=Br!d1#`%scp_Jvl!#rT>Re0JvX&!VyN=H{Fcm#U&:pY=ReaJv2&!]h0=]nUJvG'!6Vy|=<r%JrM_=]h2@Wlud'#)U'Wf'b]{i=]h/Jvh!&~BpWg=v]RnMx+ny#'Nu;pVwjnu=]nwxJnx,T#`&Reqwjnt=]nvieu9vrRjLLuYwP(#+!th@wih5pX~Gr'g5v/Rh4KunA'!-CARnP@wwiN:Rm_9x'cvw>!|l=<saKvAA!0&3@q}>w^e1bp#&Re2Re3BDx7gH#T|f5H|eKuZ>!%(:qNAH{]Jv6!+3B2B9=b^{X<5<B92:E{ZLvhwA(a;a%!igQuyRmad+#Y}m@3Rh5d8#X'X*:AqUAHzmaxwbh<aXRnVcF}RT#Nw&cj#U(BWnug/vsRntdka)(a3+.Zb7aYYan1!bVa@Xa}[y^@b[{G=H{+hFu73Rj&Pv#5ReQcK%T#sig1v{Rj'Ku+D#'!t]~Grm~?rkKuMB!01d5#`'Vy.ta3Dtu~Hroc8#'{^45s85AwZbP&!#Rn!wghxWn#KvEA!)&2RlA2RlBx:h|#(T,=]j09Wobz>x]z/@awRoTd+#Y(az]hFhCrm4d,#Y+jTv|Q~EfMj]uNr|~FRfOdCa!Xa9_X#@<plJvf!%b`{(9;Rgwc;.!#2x7cw#T|UDb]|T5Ju={(!=@E{&Jv)&!Ab`{'awJvf!~*>>@=be{#KuY>!+&4Ezyi[ugv&RjIdea+T)#UXa&T-T&a!Rh9auRmW=]kLg5vuRn+g3u4Rn-Ow6ARn,hHus5xNk?#UX(U~)/g8v0RkD~AwkkF?Ri.OuNBwkkA?Ri/d|a2`a*^UYa.!aBTZaTa'Xa;!(!2!-a#b2[yC>6Vyq3[xr2Wi?g1rusVh%s?DtF~<5rbJs;%!DtBfswKtCj[uvuSsEu3RgVx3o:u+wN'*Zt;@3rd~Grh~?rfg8w)Lq)qE&-a%!>bI|`jWv0vV~EfCjTv|vV~Ef@j]uNpn~FRfBcK#T']gWNu7x,k7q4ai(0!hHv8<RhmkMu9vrsBuev/RhlCJvB!,g<v{wchh~@:Rhji[vrv{wchi~@:RhkdS&a5UY#Ta!RgPwwiI5BwciI~@:Rh`x'iJvj'!5]iJPu8Bwch]~@:Rhach)U#h3rp]gLh@t|Ax,hTq3ah!-(~@:Ro0Ou!5RhXj^v(pyw8unRhVd|)`,^UYas!a?/a2Z'a^Ta{Tb7Ta(a#!a,Wf&9sZ3DtAadamov=Bqt3[xig8vsRm~>waiL2b`{QJv*_Ouv2qgj<v]v2BqfdR'X*X#Y-@3qr~Gqv~?p6hHv-]glPup5Lq+q?_%*b_{qF{n9b^{rOu4ARhpKvCD!+&~Bqp:5Dbb}nwoiKl&unuTuBv]v+ueunaXRf0=Jvh!0nKufu8v1w&w7q%w&uHrz:Rgnj5w,uxDJq/(!hNw'5ReCk0s2u3w/w'5ReFd>Za&!*UaA=<wkgsRnSJv^!%Refifw3vyRgOKu_B'!,<]gkiiu:w&Rh<=C@a^<B57@2F{[<B5@aW:=3away9A5aW=<B=C@a^<B57@2F{Ie-#`(^^^bCara.b8aza6!/bZ,!adTbnTbOb+aFaS!aAT9@Wf~2Wli3Dtl2@d,#Y&RfnRfmJwJZtN~GqyJva&!VyMg<v~Rm%iXuJu3Rm9Jv[_=]ih9wlkDRkCd1#`(@Wg>2Wls3cH#T(@<Rj*=>Ri|b~'#23s9h<~El.d'#Y&Dtxi^rzvdRl#d*#U%(o|B2s`hJwSaxRmDKv4B&!1:Rmdd5#`'Vx}to~Hq{x'f1v3(!BA5ba|bJv_&!Wfug1v]ReIdO+U/Y#&G}-8wze=Rh{g1v]ReHg/uQRf/by#)ibQwERl/cH#T(@<Rj+=>Ri{cNu+vlax-!(#a0qa9<Rii2;;bU{H;x<i=&X#Rk`<4wwi=C9H~8xAI(Y#<azRi@45wXI<B9;5bb~7dL(X#Xa(+!aL6Vy{g5QqOau:5au2@ay547EzbxOcU(UX-T#Ta#:Cbb|A?wjh/b_|SOw6ARgtihr}u7Rhy<d1#T)X1@@=I|~=ay<2@@=aybb}Sj3vLv;<d,#Y(56H}A978H}@dGpvs@uAu`vcw9*!aFa+ai%(b!aXa8.a?a[ozWey=sU2@G}Nch&U#Rf_WexKu+D#'!t:~Gr`~?r^j]uNr|~FRg*j^psurwJt|RmcKv)@&!)7Rkv~Br[@wxfO:Rl3co#U'6Rezj_q#vIuavjRltwzeyh@vr5JqD0!>aY?C9:9au@9Cb]}9cl#U*5;5<H||jbuus1ucv&Rfvg1v~d/pppzqFr^a--a~!aMat1(hFv;Wiz@@=Izoj5uuv-7Rix~Cw`fk2WlVcZ#X,k)u3vWs@u2]ktg;wEx'fBq(_2Wg/jTv|vV~EfoJv]!15x'hzqG!(P~EfU~CRl_j6v(us5x4i-#T(2WmZ?C2F|d>Kq<aj1!*jTqIsBv=Wl`~Cw`fi2WlWj`v0u*~>RlR=c>Z,k#u3vWs@u2]kr<c1Z+jTqIsBv=Wla~Cw`fm2WlXdmb3!a{(arZa`bkTa%TbQTa-a9+c'!aM!/[yL=Bqug.w'RifhFvyDRj.g>vgwyk^9]k^Jv3_@WfbAARkhJw2_[x|JvB_wkoIRoKwkoJRoLd'(Y#<]gm=<9<H|yd'%_X#skDtb3awwqkgNulRkgdB#^',9:p'hJwSaxRmEBwVb8@4=H|qLu+w50&!)@3qs~?pU>Awwn;;Rn=c:Z'ARn<=<qwKvC@!/&~BqqJv6!&]eVb^z^xRge'/a%+^`#Sge}6<4Rn3=]n0Pw2>Rn8Jw0!&>Rn:>Rn6cY#a7+!a&=<wkaNw~h3z_c5Z{=wjh#=]nLKv^D!&)Vyz=bW|swYb<WetcG#T(2wxa@qVx@gD#Y&b^|V5JwG&!5bb|pg/w&RgD@x=kHs=uAvn!a%%/'+RmSRh694Ro`g-vaRmRhHv-]mlxCcS#`&ba~.5cD#Ta)P~=d,#Y(56H{>978H{Dd_#{2^Y%_+qbbb{6g3sERhsbU{?dfa.,`a(Xa<!aiX#(55RiG54RiHcI#T'WiU3RiVNvdwtfcRlKNvdd,#Y&RlHRlExQgf.1*^T'X#Sgf}6Wn4=]hfPrk>Rn7Jw0!&>Rn5>Rn9Lunw?&a2!,5<oq@@wqfdRlJj5Q~=d,#Y(~ARfcOuN]fdDKw;ay(}i!547E}j?cI#T(@5bV}iCbV}hdv(^^Tb?a40,b##Tbo!a*bR!a<b|a/!aKai!aU[yK=]o^g:v>ReGJwPZtK<7Rh+h<~El,Pv#5ReR@awwxjCg,ulRjDJv6&!]j!z?aQeeg>w=Sh<eeJw;!&axEzOg,Qosc!#*:wkeJ]eJ>x'h-u(!%Ro.w~h.zPdNZ(X,Ya![x{;9ReY;wkgxRiF:x?ap#Y&RmUg<s2Rkod]+UY0TZ'!a&A9sw<=bczLNvuw{gqzNhJwSaxRmCKuLay!#&s_Rf-55b^{uJvZa!!c%#(55Ri654wmiu5RiuawLu,vp!+}^%b_}Y9;wkgxba}o>A9:=b^}zKuh=a''!3awRk3c*'!#aHRk6c+Z&Rk5Rk4Jv)&!awRjSawd9*`#0?C2@EzMj8u<uJ5RmbjQrquJu3x,k>uq@_+=ayb^|W~ARkEOuN]k@7dhzV^X/X&a-#zRzSb`zXcJzTT#2WkVKvDBzW!%FzY9;5bbzWjQrquJu3Jw3%!b`zU=ayb^zQd:#X(T-a!6Vyywxh}=b]{Jg=u1RiAdGp~qHtzv!w(wA+a+a;<!aJaYai'anasb(=azRmV:Cbb{MLq2vb!%')RjuRjrRjtRjqx3jnqCw3!%')Rk(Rk+Rk&Rk)Lq2vb!%')Rj{RjxRjzRjwLq2vb!%')RjsRjpRjfRjex3jcqCw3!%')Rk'Rk*RjkRjl9<CbbzfOu4ARhxLq2vb!%')RjyRjvRjhRjgx=joq*uKvb!%')+-Rk.Rk%Rj~Rk-Rk#Rj}x=jdq*uKvb!%')+-Rk,Rk!Rj|RjmRjjRjidAq&qKs@uAv8Aa.'*-a@a&0!aM@a5[y73Dsy3Ds|3Dt):wxgI2sHJwJZt.~Gqxwsf0ikrzt}Rl0Jvy_[xj~HqzKv_A|D!&WfP8axRoVcf,U#k(v]v+ueunaXRf1Ju}'!g8u#Ri=jQw!sCunLprq>!,')~<5qeGzq9F{W=c##%s5au:5aU3CBE|;d4#X(D!a&6Vygx(b;#(=]ed?C2F{N<capoq2r[a&!aPa9,'Pw;5s:@@=I|,55w_h|@@=IzcP~=x'fCqB_2Wl2>aU@@=I|1OuNBc1Z+jTqIsBv=Wlc~Cw`fl2WlZ~AcTa%!Z+jTqIsBv=Wlb~Cw`fh2WlYk+uNqJsBv=WlSg,u3dca3#UXaMYa)TaB-=cM|7T#<bI}l5@B932:aV2G{BOuNBJq:|M!5Ezt=<B=C@a^<B57@2F{v>cB{/T#=ay<bI{3Jv6!a.6BKq0ah&+!5E}HP~Ef{978BaU@@=Iza<7d#.Y#978BaU@@=IzH~AJq0!(@@=IzG978BaU@@=IzFe,aU*Y&^^^bvJb,b:bFad!a,c2Ta>aL.bo6!a#CbTa'T#Re{2Wlh2@G{yg6t~Ro_NvdRfticuRQRllJv3&!x&c|zs@Jw3!%RflwpfkRlpKuL;%(!Re<@G|C2GzdhIvuBwgjAg-u0RjAKQB%!(GzZ@G|5NuuRl7d='T+Y#Vy[g<v~Rm!==G|>JvA!)@wma=]m1ifuaw&RmnLs@vT'!|/+[y,g:v>ReTJw1!#qX=x!eC{bLu+wT&)ZtZauq_~Graci&U#F|89:r_Lupvq!.)&2RlG8RfaC=x!eF{_h?rpWlmd&'!#X|&]k::xJey#`'T|+<E|&2@H|%dE#(^,g;u.RiEg6vjRiC9xCkA{O|zY#g=ucRmXKs0@!&*@G|m@awRknJuh!,3d(}gY}eJvj!%Rm):Jw3!%Rm+Rm-Ls0w(&!a(a#@b[|6cZ#X'7RkxWgAOu4ARn'dH'U#Y*Vz-Wm'CARm}d]*#a%^a*T'aK!a<9bV{PC=p*Jw4!&SgxcbB5r]idw(wBRmF7xFkt#&`(Rm/Rm8E|!JuY_9:Rl5=wrgr2:bbxd@xXfB(a*#T+!.X0X1Ta/a'T&RlDRfL>RlyARl9b[z[>RfZ:RlL:RfRwlg/ARl;9;RlxKv,A/!%7s69<74=BA5ba{-8Bde#`a<XaKYa1,a'P~=wxfB2bZ}}?C972@@=I}r8@55B9;5bb}G978B2@@=aybb}3j3vLv;<Jw3&!>Rfk=ayb^}4~Ad1#`*@@=aybb{w2@>==<bbz]dx+UY#^UaF!a9!bB'Ya1.!ajXa#%olRhD[y=3Dt#Ov5BrHKuMB%!(Rf^Wep~HrJwkiQjKr|~FRg)Ku+D#'!t5~GrF~?rDdV)UY,Z/_7RkuG{<~BrBg,rlsO:235B@bX}|d?a1!#`(6Vyn5@d##Y+jTv|vV~EfIj]uNpn~FRfH7Lq2vb1!a9-978BaU@@=Iz9978BbU}#~AJq0!(@@=Iz8978BaU@@=Iz7~AJQ|}!978BbU}!JvkaK!AdUa21-U#`a+(g/vsRn~Ou!5RPj:rmu9WhOjXuvvNr}:RhAj^v(pyw8unRn[kPr}p|u7vwv]RiSBd;pppzq@qHQa?(b.!a.a`@.|xa(hFv;Wiyj5uuv-7Riw~Cw`fg2WlU978BbU|wOuNBJqG!(P~EfD~CRlQcZ#X,k)u3vWs@u2]ksg;wEx'f@q1_2Wg.j]uNpn~FRfqJv]!15x'h{qG!(@@=IzK~CRl^j6v(us5x4i,#T(2WmY?C2F{1>Kq<aj1!*jTqIsBv=Wld~Cw`fj2Wl[j`v0u*~>RlT=c>Z,k#u3vWs@u2]kq<c1Z+jTqIsBv=Wle~Cw`fn2Wl]dn1#c(a(b^a2!b/bAT(bj!aDa7bu,a_a{c0!2T0g:v>ReD2@G{42@G{5~DpM~<5rc=Bx6i>{RT#RnI@zCx]y]z:2Jv[!zr5Awyk]9]k]dD(Y+X#6Vz.g=wKtgwhaCwgmTWj2Lu,w%_+/[y-B;b^xeg3u3Rj-2@bX{*KrJ<!+'@Wg(g?QRlC@Jv`!%b[zIwsfII}8JQ_@w|kW|=Jv(%!AqcOuNBJvEzh!bYzjLs@wP#(0!oy@>RkdJwMZtc3Dtd@BcG#T'9bWxg2@2Fznd*#Y+;2x'c}w<zizixNgwa#Z'U+!/!a'!a+w~g~z6wcn{Rn}wcnzRn|5Rh%=]nJg5vuRmvNvdRlvcprJu}w*az*a#!%.a.'Bot9qT]kj@Wg'ay2Gzv@Jv`!%b[zEwsfHI}1;ck#Ux`<Cbbx_Lu+w!a&0*!wko*wwo,So,}6Juqxf!E}PigQuyRm`d3(`#8>Rn%:A5B;bZ~%KvhCa!a2!x>k7#Uxb@b{#xaRk7Jw0!)>wwhlShl}6>wwhmShm}6CJvB!.x'hhvj{!!5Bwkhhbaz}x'hivjz~!5Bwkhibaz|xEhTrNu,v-vpD!a%&/)a3a.,%Ro2t[CE{)@3re9b]{%wjo09:rgc:Z&Ro6=<riifuaw&RmoKrNA!%(Ro4>Ro89;Ri`dSaL'UYzxZb)7Rka3xRhT&!,!#^1U}vbaz{>>@=be}yC@:D5bazzKu+A&!}{?ba}y>>@=be}wxBh[t`u~vJvr!%a!a()a,a0a4RoC=]o;Ju(!%RoGRhdwjh`=]oAg>w#Ro?g5vuRo=NvdRl|Ku]C.!&;RoEJvB!%RoORoMBx'h[v+_?w~h`}~5?w~hd~!xKh]oiptu-utv.vp!#%&a30a@a'a+(a/aOp(o~p!RoDJu(!%RoHRhewjha=]oBNvdRl}g>w#Ro@g5vuRo>c[#X']o<CauRoRAd-#Y':RkpauRoQKu]C.!&;RoFJvB!%RoNRoPBx'h]v+_?w~ha}t5?w~he}ue!/UbhYacXaW^Tc&a;b:a-c/#b&aja1(!cL+!bKbt!bmcRc9aIc?8[yW3Dtt94Rg`Jv}!&SiRMzBhEebShEMNuPRe>x7gL#TzuwjirRipc<Z&>on;>z=h-MSh.Mwqczx'a7vj&!>Re4@=ResJt__NuPRi*NuPRi)j]uNr|~FRfzKrJ>_+@Wfy@Wf]2WocKrJ<!+'@Wg%g/QRl@@Jv`!&awRl<wsfFIzgLu(w*!.*&ShBMwvhIRhI9;RhNx1hK'!#Sn]Mx1hK~0!#:2<H~7cNu+w7D*'1ZtW>Rn1~?rOc:Z&Rn2=<rQ<7wjh&=BSnLMc]#X(6Vz)w[b=a!U#9wzgMc3#&(RgMRitRis<x,gKt`ax!&+SioM=BSilMc3#&(RgKRinRimKurB,!&SiQMzBhDebShDM6BJQ!(P~Efx978B2@@=I}WLrJw!!,a*&@G}O@9wkibRid@@x'fKwC!&SlDMSfLMjUv~Q~EfKKv3@a+!(hFv-]mpx/hYZ(C5RiWz<o/MwkhY?So/M@x,gbvfB*&!SgEM:SoeeehFu3:Rgbda(,^TZa)X/7Sg[eb:2RgI~BrMC@wgkc:wwkcRerx3h(uUvK!&*,SnOM4Sh*MArRg;wHRh(x=h;rJvPwI!a4',a'0@Wg&=BSh/Mg>w=Rh=g3w*wwgGRgGcW(X#;Sg}M2Gzk@Jv`!&awRl=wsfGIz`dKZ*T'Y-:RhR7RhQg5u-p`j6v(us5d,#Y+~Awkia?RicOuNBwkibba}Ld6p~tyu_vbAa'a+!a/'a3aEa8a!>Sh,ebJv{!&Sh@ebSaReb9;SgwebNuPRi(NvdRl)NuPRi'hHu^<Rm^Jvv_@Wl(g;u1Si/ebKu'B&!*Sh?eb@Wl'z@aPeb95Si.ebcpputyvjB)!,&a+0a%ShAMWeK@G}C@WfJ9;RhMwvhH9w{ia}ix,hJvRA1(!zAn[MRhHx1hJ~*!#hFv(BSn[MBJQ!(@@=I~'978B2@@=I}2db.Ua<'X}+T#a0XaG2G}E;wkg|wuh!Rh!x,hZu,@)!&So0MVy)C5RiXACJvB!&5RiY5RiZg8w)cG}*T#2@bU}=KsA>(!a.3wkhZba~(x,h^u(A!&(SoCMRhb5Bz=h[eb?w~hb~6x,h_u(A!&(SoDMRhc5Bz=h]eb?w~hc~6e)aA1T#T,^^^c-bMb&blcPaP(a/!0!bA=b5c@a(!bfbrc#2afwmhARnjwchORnp2Wlf3DtsNvdRl-2@wpa<]m0bx(#:awRk2@Jw3!%RfhwpfgRlnKQB%!(G{V@G|'NuuRl6d='T+Y#VyUg<v~Rl~==G|<Jv+'!aYShC}6@B<5?ba~8@Jw3'!g2QRljhLrpWlOd+#Y'g.w'rIg>w*wgj@g-u0Rj@Lu+wT&)ZtUauq]~GrGci&U#F|39:rELrNvj!.%*RhCwunfw~nf~:9;Ri]>wtnhg;wHRnhx3hDs@v~!/+'@Wfr@9RkSNu&Rlo=@<5GzoKs0@_+@Wl+@awRkmJuh!-3d(}pY#qWJvj!%Rm(:Jw3!%Rm,Rm*de&!1U-U#`)Re;@G|.@9Ri82@wjfvRlq=@<5GzpLvOvr!).&2RlF8Rf`C=x!eE{.Jw3_g2QRlkhLrpWlPde(!#U{s,UXa*Ta'[y'g:v>ReS;x0PZ&RnlRnn~HrKJw1}f!=x!eB|2w]aP(#Xa&a*Ta.Ua2a7=]iOd'#Y&Ro&WnWg;u.RiDg6vjRiBNvdRlzhNvj]nYJuW_2Wm3x)kFze{9d])!a.!,Y01!#&aC!a3RndC=ox~BrC@2b^{pg,rlse7x'ksuq!%Rm.E{xidw(wBRmGx9o+)X#wwo-So-}69:Rl4@xSf@a#XZ'X)X,Ta(/ARl8b[xc>RfY:RlI:RfQwlg.ARl:9;Rlwdn'#^XafaQa1X1TaHTa)@b[{zcZ#X'7RkwWg@Ou4ARn&x)kG#{,g7u/RkGdH'U#Y*Vz'Wm&CARm|bx#(A]gUbUzJj9Q~=d,#Y(56H}l978H{U7d,0#U*2>ABb_xZ978BbU{e~AJQ{g!978BbU{hxMh?ad{oUYZ.x1h?{l!#:2<H{mx3n[t{vl!,&a%3Ro(z=iS}6ARnr=Bwsn^wvn`Rnbd`*T}B0!#^X'BG{c9b]{a>>@=be}F?JvS!&BG{d7BG}(Bde#`a1X,Ya@!a'P~=wxf@2bZ}I56B2@@=aybb}08@55B9;5bb}<j3vLv;<Jw3&!>Rfg=ayb^}&OuNBKuLA!)a!P~=x#fD{f2@>==<bbzl?C972@@=Ix^d6rSu,v7w*C(0a)a6#B+a%!sQ[y?3Dt%3[xn~<5rLOu!5p@Ku+D#'!t7~GrP~?rNKvlaya7'!h+v-5qMg=t|cd,U#5AAaa5Abb{S@52B5@a[@52B5Gx[iXueu;d<#`a(!/549C;ag>23ExY5@Dah89b^~689Jv)!~2b[~1Lv'w(%*!a#bX|aPrmawRe]keu7uhv-q6rxu,q`xTo]/a5aU!bNaDXbi!b-!ao!b<bwA!#5@B932:aV2G|:d-)Y#hJrL>RhG<7@C5<H|_=Cau:5aj5@B932:bJ|ng>vIbs)#?C2F|9jPv0w.vISh-MKvUaz(.!9ABbb|[5;5<H|Eg>unwfh;9:4E|YjQsBt|vjx'hYq3!(?C2F|J:2<BaY?C2F|GOu!5x,g|p{ah!-(?C2F|c9:4E|OjXuvvNr}:Rh&i[w*t|cd+U#jJvsu)vsSn~Mkfrmu9p}u7vwv]So!McW#Xa!ax5@A5aY:5;5<H|>kJv~vYrquJu3x4ib#T)2@SmZM?C2F|Bj:rmu9@xPhI(a*a#U#`a3-5Abb|L~@:RhK9:4E|0@52B5G|#C::aY?C2F|-:2<BaY?C2F|.5Jvk!a)javYrquJu3x4ia#T)2@SmYM?C2F|HAxPhH(!a#U#`a*-5Abb|4~@:RhJ9:4E|R@52B5G|F:2<BaY?C2F|Sc^#Xa2j=Qq5CJvB!-g<v{z;hhM?C2F|Zi[vrv{z;hiM?C2F|XKsA>!a)-g<v{z;h[eb?C2F|]i[vrv{z;h]eb?C2F|^iZu.vix,hZq3ah!.(?C2F|QOu!5ShXM:2<BaY?C2F|P",13494,2713,49,25,61);var z=new Uint16Array([512,26465,29036,7,0,2,4,116,24638,116,24636,8693,29807,24610,621,1,0,0,3,112,24614,111,115,24615]);var b;(function(e){e[e.VALUE_LENGTH=49152]="VALUE_LENGTH",e[e.FLAG13=8192]="FLAG13",e[e.BRANCH_LENGTH=8064]="BRANCH_LENGTH",e[e.JUMP_TABLE=127]="JUMP_TABLE",e[e.VALUE_MASK=8191]="VALUE_MASK"})(b||(b={}));var w;(function(e){e[e.AMP=38]="AMP",e[e.NUM=35]="NUM",e[e.SEMI=59]="SEMI",e[e.EQUALS=61]="EQUALS",e[e.ZERO=48]="ZERO",e[e.NINE=57]="NINE",e[e.LOWER_A=97]="LOWER_A",e[e.LOWER_X=120]="LOWER_X"})(w||(w={}));var Y=32;function at(e){return e-w.ZERO>>>0<=9}function wt(e){return(e|Y)-w.LOWER_A>>>0<=5}function vt(e){return(e|Y)-w.LOWER_A>>>0<=25}function At(e){return e===w.EQUALS||vt(e)||at(e)}var g;(function(e){e[e.EntityStart=0]="EntityStart",e[e.NumericStart=1]="NumericStart",e[e.NumericDecimal=2]="NumericDecimal",e[e.NumericHex=3]="NumericHex",e[e.NamedEntity=4]="NamedEntity"})(g||(g={}));var N;(function(e){e[e.Legacy=0]="Legacy",e[e.Strict=1]="Strict",e[e.Attribute=2]="Attribute"})(N||(N={}));var O=class{decodeTree;emitCodePoint;errors;state=g.EntityStart;consumed=1;result=0;treeIndex=0;excess=1;decodeMode=N.Strict;runConsumed=0;constructor(t,i,a){this.decodeTree=t,this.emitCodePoint=i,this.errors=a}startEntity(t){this.decodeMode=t,this.state=g.EntityStart,this.result=0,this.treeIndex=0,this.excess=1,this.consumed=1,this.runConsumed=0}write(t,i){switch(this.state){case g.EntityStart:return t.charCodeAt(i)===w.NUM?(this.state=g.NumericStart,this.consumed+=1,this.stateNumericStart(t,i+1)):(this.state=g.NamedEntity,this.stateNamedEntity(t,i));case g.NumericStart:return this.stateNumericStart(t,i);case g.NumericDecimal:return this.stateNumericDecimal(t,i);case g.NumericHex:return this.stateNumericHex(t,i);default:return this.stateNamedEntity(t,i)}}stateNumericStart(t,i){return i>=t.length?-1:(t.charCodeAt(i)|Y)===w.LOWER_X?(this.state=g.NumericHex,this.consumed+=1,this.stateNumericHex(t,i+1)):(this.state=g.NumericDecimal,this.stateNumericDecimal(t,i))}stateNumericHex(t,i){let a=t.length,{result:r}=this,{consumed:u}=this;for(;i<a;){let o=t.charCodeAt(i);if(at(o)||wt(o)){let f=o<=w.NINE?o-w.ZERO:(o|Y)-w.LOWER_A+10;r=r*16+f,u+=1,i+=1}else return this.result=r,this.consumed=u,this.emitNumericEntity(o,3)}return this.result=r,this.consumed=u,-1}stateNumericDecimal(t,i){let a=t.length,{result:r}=this,{consumed:u}=this;for(;i<a;){let o=t.charCodeAt(i)-w.ZERO;if(o>>>0>9)return this.result=r,this.consumed=u,this.emitNumericEntity(o+w.ZERO,2);r=r*10+o,u+=1,i+=1}return this.result=r,this.consumed=u,-1}emitNumericEntity(t,i){if(this.consumed<=i)return this.errors?.absenceOfDigitsInNumericCharacterReference(this.consumed),0;if(t===w.SEMI)this.consumed+=1;else if(this.decodeMode===N.Strict)return 0;return this.emitCodePoint((this.decodeTree===z?it:et)(this.result),this.consumed),this.errors&&(t!==w.SEMI&&this.errors.missingSemicolonAfterCharacterReference(),this.errors.validateNumericCharacterReference(this.result)),this.consumed}flushAndEmitLegacyOrReject(t,i,a,r){return this.consumed=t,this.excess=i,this.result===0||this.decodeMode===N.Attribute&&(r===0||i>1||At(a))?0:this.emitNotTerminatedNamedEntity()}stateNamedEntity(t,i){let{decodeTree:a}=this,r=t.length,u=this.decodeMode===N.Strict,{treeIndex:o}=this,{excess:f}=this,{consumed:l}=this,c=a[o];for(;i<r;){for(;(c&(b.VALUE_LENGTH|b.FLAG13))===0&&(c&b.JUMP_TABLE)!==0;){let R=t.charCodeAt(i),A=c&b.JUMP_TABLE,v=(c&b.BRANCH_LENGTH)>>7;if(v===0){if(R!==A)return this.flushAndEmitLegacyOrReject(l,f,R,0);o+=1}else{let L=R-A;if(L>>>0>=v)return this.flushAndEmitLegacyOrReject(l,f,R,0);let J=a[o+1+L];if(J===0)return this.flushAndEmitLegacyOrReject(l,f,R,0);o=o+v+J&65535}if(c=a[o],i+=1,f+=1,i>=r)break}if(i>=r)break;if((c&(b.VALUE_LENGTH|b.FLAG13))===b.FLAG13){let R=(c&b.BRANCH_LENGTH)>>7,{runConsumed:A}=this;if(A===0){let v=t.charCodeAt(i);if(v!==(c&b.JUMP_TABLE))return this.flushAndEmitLegacyOrReject(l,f,v,0);i+=1,f+=1,A=1}for(;A<R;){if(i>=r)return this.treeIndex=o,this.excess=f,this.consumed=l,this.runConsumed=A,-1;let v=A-1,J=a[o+1+(v>>1)]>>((v&1)<<3)&255,U=t.charCodeAt(i);if(U!==J)return this.runConsumed=0,this.flushAndEmitLegacyOrReject(l,f,U,0);i+=1,f+=1,A+=1}this.runConsumed=0,o+=1+(R>>1),c=a[o];continue}let p=c>>>14,q=t.charCodeAt(i);if(p!==0){if(!u&&(c&b.FLAG13)===0&&(this.result=o,l+=f-1,f=1),q===w.SEMI)return this.emitNamedEntityData(o,p,l+f);if(p===1)return this.flushAndEmitLegacyOrReject(l,f,q,p)}let C=pt(a,c,o+(p||1),q);if(C<0)return this.flushAndEmitLegacyOrReject(l,f,q,p);o=C,c=a[o],i+=1,f+=1}return!u&&c>>>14&&(c&b.FLAG13)===0&&(this.result=o,l+=f-1,f=1),this.treeIndex=o,this.excess=f,this.consumed=l,-1}emitNotTerminatedNamedEntity(){let{result:t,decodeTree:i}=this,a=i[t]>>>14;return this.emitNamedEntityData(t,a,this.consumed),this.errors?.missingSemicolonAfterCharacterReference(),this.consumed}emitNamedEntityData(t,i,a){let{decodeTree:r}=this;return this.emitCodePoint(i===1?r[t]&b.VALUE_MASK:r[t+1],a),i===3&&this.emitCodePoint(r[t+2],a),a}end(){switch(this.state){case g.NamedEntity:return this.result!==0&&(this.decodeMode!==N.Attribute||this.result===this.treeIndex)?this.emitNotTerminatedNamedEntity():0;case g.NumericDecimal:return this.emitNumericEntity(0,2);case g.NumericHex:return this.emitNumericEntity(0,3);case g.NumericStart:return this.errors?.absenceOfDigitsInNumericCharacterReference(this.consumed),0;default:return 0}}};function pt(e,t,i,a){let r=(t&b.BRANCH_LENGTH)>>7,u=t&b.JUMP_TABLE;if(u){if(r===0)return a===u?i:-1;let l=a-u;if(l>>>0>=r)return-1;let c=e[i+l];return c===0?-1:i+r+c-1&65535}if(r===0)return-1;let o=r+1>>1,f=i+o+r;for(let l=0;l<r;l++){let p=e[i+(l>>1)]>>((l&1)<<3)&255;if(p===a){let q=i+o+l;return f+e[q]&65535}if(p>a)return-1}return-1}var n;(function(e){e[e.Tab=9]="Tab",e[e.NewLine=10]="NewLine",e[e.FormFeed=12]="FormFeed",e[e.CarriageReturn=13]="CarriageReturn",e[e.Space=32]="Space",e[e.ExclamationMark=33]="ExclamationMark",e[e.Number=35]="Number",e[e.Amp=38]="Amp",e[e.SingleQuote=39]="SingleQuote",e[e.DoubleQuote=34]="DoubleQuote",e[e.Dash=45]="Dash",e[e.Slash=47]="Slash",e[e.Zero=48]="Zero",e[e.Nine=57]="Nine",e[e.Semi=59]="Semi",e[e.Lt=60]="Lt",e[e.Eq=61]="Eq",e[e.Gt=62]="Gt",e[e.Questionmark=63]="Questionmark",e[e.UpperA=65]="UpperA",e[e.LowerA=97]="LowerA",e[e.UpperF=70]="UpperF",e[e.LowerF=102]="LowerF",e[e.UpperZ=90]="UpperZ",e[e.LowerZ=122]="LowerZ",e[e.LowerX=120]="LowerX",e[e.OpeningSquareBracket=91]="OpeningSquareBracket"})(n||(n={}));var s;(function(e){e[e.Text=1]="Text",e[e.BeforeTagName=2]="BeforeTagName",e[e.InTagName=3]="InTagName",e[e.InSelfClosingTag=4]="InSelfClosingTag",e[e.BeforeClosingTagName=5]="BeforeClosingTagName",e[e.InClosingTagName=6]="InClosingTagName",e[e.AfterClosingTagName=7]="AfterClosingTagName",e[e.BeforeAttributeName=8]="BeforeAttributeName",e[e.InAttributeName=9]="InAttributeName",e[e.AfterAttributeName=10]="AfterAttributeName",e[e.BeforeAttributeValue=11]="BeforeAttributeValue",e[e.InAttributeValueDq=12]="InAttributeValueDq",e[e.InAttributeValueSq=13]="InAttributeValueSq",e[e.InAttributeValueNq=14]="InAttributeValueNq",e[e.BeforeDeclaration=15]="BeforeDeclaration",e[e.InDeclaration=16]="InDeclaration",e[e.InProcessingInstruction=17]="InProcessingInstruction",e[e.BeforeComment=18]="BeforeComment",e[e.CDATASequence=19]="CDATASequence",e[e.DeclarationSequence=20]="DeclarationSequence",e[e.InSpecialComment=21]="InSpecialComment",e[e.InCommentLike=22]="InCommentLike",e[e.SpecialStartSequence=23]="SpecialStartSequence",e[e.InSpecialTag=24]="InSpecialTag",e[e.InPlainText=25]="InPlainText",e[e.InEntity=26]="InEntity"})(s||(s={}));function j(e){return e===n.Space||e===n.NewLine||e===n.Tab||e===n.FormFeed||e===n.CarriageReturn}function W(e){return e===n.Slash||e===n.Gt||j(e)}function Tt(e){return e>=n.LowerA&&e<=n.LowerZ||e>=n.UpperA&&e<=n.UpperZ}var E;(function(e){e[e.NoValue=0]="NoValue",e[e.Unquoted=1]="Unquoted",e[e.Single=2]="Single",e[e.Double=3]="Double"})(E||(E={}));var h={Empty:new Uint8Array(0),Cdata:new Uint8Array([67,68,65,84,65,91]),CdataEnd:new Uint8Array([93,93,62]),CommentEnd:new Uint8Array([45,45,33,62]),Doctype:new Uint8Array([100,111,99,116,121,112,101]),IframeEnd:new Uint8Array([60,47,105,102,114,97,109,101]),NoembedEnd:new Uint8Array([60,47,110,111,101,109,98,101,100]),NoframesEnd:new Uint8Array([60,47,110,111,102,114,97,109,101,115]),Plaintext:new Uint8Array([60,47,112,108,97,105,110,116,101,120,116]),ScriptEnd:new Uint8Array([60,47,115,99,114,105,112,116]),StyleEnd:new Uint8Array([60,47,115,116,121,108,101]),TitleEnd:new Uint8Array([60,47,116,105,116,108,101]),TextareaEnd:new Uint8Array([60,47,116,101,120,116,97,114,101,97]),XmpEnd:new Uint8Array([60,47,120,109,112])},St=new Map([[h.IframeEnd[2],h.IframeEnd],[h.NoembedEnd[2],h.NoembedEnd],[h.Plaintext[2],h.Plaintext],[h.ScriptEnd[2],h.ScriptEnd],[h.TitleEnd[2],h.TitleEnd],[h.XmpEnd[2],h.XmpEnd]]),X=class{cbs;state=s.Text;buffer="";sectionStart=0;index=0;entityStart=0;baseState=s.Text;isSpecial=!1;running=!0;offset=0;xmlMode;decodeEntities;recognizeSelfClosing;entityDecoder;constructor({xmlMode:t=!1,decodeEntities:i=!0,recognizeSelfClosing:a=t},r){this.cbs=r,this.xmlMode=t,this.decodeEntities=i,this.recognizeSelfClosing=a,this.entityDecoder=new O(t?z:P,(u,o)=>this.emitCodePoint(u,o))}reset(){this.state=s.Text,this.buffer="",this.sectionStart=0,this.index=0,this.baseState=s.Text,this.isSpecial=!1,this.currentSequence=h.Empty,this.sequenceIndex=0,this.running=!0,this.offset=0}write(t){this.offset+=this.buffer.length,this.buffer=t,this.parse()}end(){this.running&&this.finish()}pause(){this.running=!1}resume(){this.running=!0,this.index<this.buffer.length+this.offset&&this.parse()}stateText(t){t===n.Lt||!this.decodeEntities&&this.fastForwardTo(n.Lt)?(this.index>this.sectionStart&&this.cbs.ontext(this.sectionStart,this.index),this.state=s.BeforeTagName,this.sectionStart=this.index):this.decodeEntities&&t===n.Amp&&this.startEntity()}currentSequence=h.Empty;sequenceIndex=0;enterTagBody(){this.currentSequence===h.Plaintext?(this.currentSequence=h.Empty,this.state=s.InPlainText):this.isSpecial?(this.state=s.InSpecialTag,this.sequenceIndex=0):this.state=s.Text}stateSpecialStartSequence(t){let i=t|32;if(this.sequenceIndex<this.currentSequence.length){if(i===this.currentSequence[this.sequenceIndex]){this.sequenceIndex++;return}if(this.sequenceIndex===3){if(this.currentSequence===h.ScriptEnd&&i===h.StyleEnd[3]){this.currentSequence=h.StyleEnd,this.sequenceIndex=4;return}if(this.currentSequence===h.TitleEnd&&i===h.TextareaEnd[3]){this.currentSequence=h.TextareaEnd,this.sequenceIndex=4;return}}else if(this.sequenceIndex===4&&this.currentSequence===h.NoembedEnd&&i===h.NoframesEnd[4]){this.currentSequence=h.NoframesEnd,this.sequenceIndex=5;return}}else if(W(t)){this.sequenceIndex=0,this.state=s.InTagName,this.stateInTagName(t);return}this.isSpecial=!1,this.currentSequence=h.Empty,this.sequenceIndex=0,this.state=s.InTagName,this.stateInTagName(t)}stateCDATASequence(t){t===h.Cdata[this.sequenceIndex]?++this.sequenceIndex===h.Cdata.length&&(this.state=s.InCommentLike,this.currentSequence=h.CdataEnd,this.sequenceIndex=0,this.sectionStart=this.index+1):(this.sequenceIndex=0,this.xmlMode?(this.state=s.InDeclaration,this.stateInDeclaration(t)):(this.state=s.InSpecialComment,this.stateInSpecialComment(t)))}fastForwardTo(t){for(;++this.index<this.buffer.length+this.offset;)if(this.buffer.charCodeAt(this.index-this.offset)===t)return!0;return this.index=this.buffer.length+this.offset-1,!1}emitComment(t){this.cbs.oncomment(this.sectionStart,this.index,t),this.sequenceIndex=0,this.sectionStart=this.index+1,this.state=s.Text}stateInCommentLike(t){!this.xmlMode&&this.currentSequence===h.CommentEnd&&this.sequenceIndex<=1&&this.index===this.sectionStart+this.sequenceIndex&&t===n.Gt?this.emitComment(this.sequenceIndex):this.currentSequence===h.CommentEnd&&this.sequenceIndex===2&&t===n.Gt?this.emitComment(2):this.currentSequence===h.CommentEnd&&this.sequenceIndex===this.currentSequence.length-1&&t!==n.Gt?this.sequenceIndex=+(t===n.Dash):t===this.currentSequence[this.sequenceIndex]?++this.sequenceIndex===this.currentSequence.length&&(this.currentSequence===h.CdataEnd?this.cbs.oncdata(this.sectionStart,this.index,2):this.cbs.oncomment(this.sectionStart,this.index,3),this.sequenceIndex=0,this.sectionStart=this.index+1,this.state=s.Text):this.sequenceIndex===0?this.fastForwardTo(this.currentSequence[0])&&(this.sequenceIndex=1):t!==this.currentSequence[this.sequenceIndex-1]&&(this.sequenceIndex=0)}isTagStartChar(t){return this.xmlMode?!W(t):Tt(t)}stateInSpecialTag(t){if(this.sequenceIndex===this.currentSequence.length){if(W(t)){let i=this.index-this.currentSequence.length;if(this.sectionStart<i){let a=this.index;this.index=i,this.cbs.ontext(this.sectionStart,i),this.index=a}this.isSpecial=!1,this.sectionStart=i+2,this.stateInClosingTagName(t);return}this.sequenceIndex=0}(t|32)===this.currentSequence[this.sequenceIndex]?this.sequenceIndex+=1:this.sequenceIndex===0?this.currentSequence===h.TitleEnd||this.currentSequence===h.TextareaEnd?this.decodeEntities&&t===n.Amp&&this.startEntity():this.fastForwardTo(n.Lt)&&(this.sequenceIndex=1):this.sequenceIndex=+(t===n.Lt)}stateBeforeTagName(t){if(t===n.ExclamationMark)this.state=s.BeforeDeclaration,this.sectionStart=this.index+1;else if(t===n.Questionmark)this.xmlMode?(this.state=s.InProcessingInstruction,this.sequenceIndex=0,this.sectionStart=this.index+1):(this.state=s.InSpecialComment,this.sectionStart=this.index);else if(this.isTagStartChar(t)){this.sectionStart=this.index;let i=this.xmlMode||this.cbs.isInForeignContext?.()?void 0:St.get(t|32);i===void 0?this.state=s.InTagName:(this.isSpecial=!0,this.currentSequence=i,this.sequenceIndex=3,this.state=s.SpecialStartSequence)}else t===n.Slash?this.state=s.BeforeClosingTagName:(this.state=s.Text,this.stateText(t))}stateInTagName(t){W(t)&&(this.cbs.onopentagname(this.sectionStart,this.index),this.sectionStart=-1,this.state=s.BeforeAttributeName,this.stateBeforeAttributeName(t))}stateBeforeClosingTagName(t){j(t)?this.xmlMode||(this.state=s.InSpecialComment,this.sectionStart=this.index):t===n.Gt?(this.state=s.Text,this.xmlMode||(this.sectionStart=this.index+1)):(this.state=this.isTagStartChar(t)?s.InClosingTagName:s.InSpecialComment,this.sectionStart=this.index)}stateInClosingTagName(t){W(t)&&(this.cbs.onclosetag(this.sectionStart,this.index),this.sectionStart=-1,this.state=s.AfterClosingTagName,this.stateAfterClosingTagName(t))}stateAfterClosingTagName(t){(t===n.Gt||this.fastForwardTo(n.Gt))&&(this.state=s.Text,this.sectionStart=this.index+1)}stateBeforeAttributeName(t){t===n.Gt?(this.cbs.onopentagend(this.index),this.enterTagBody(),this.sectionStart=this.index+1):t===n.Slash?this.state=s.InSelfClosingTag:j(t)||(this.state=s.InAttributeName,this.sectionStart=this.index)}stateInSelfClosingTag(t){if(t===n.Gt){if(this.cbs.onselfclosingtag(this.index),this.sectionStart=this.index+1,!this.recognizeSelfClosing){this.enterTagBody();return}this.state=s.Text,this.isSpecial=!1,this.currentSequence=h.Empty}else j(t)||(this.state=s.BeforeAttributeName,this.stateBeforeAttributeName(t))}stateInAttributeName(t){(t===n.Eq||W(t))&&(this.cbs.onattribname(this.sectionStart,this.index),this.sectionStart=this.index,this.state=s.AfterAttributeName,this.stateAfterAttributeName(t))}stateAfterAttributeName(t){t===n.Eq?this.state=s.BeforeAttributeValue:t===n.Slash||t===n.Gt?(this.cbs.onattribend(E.NoValue,this.sectionStart),this.sectionStart=-1,this.state=s.BeforeAttributeName,this.stateBeforeAttributeName(t)):j(t)||(this.cbs.onattribend(E.NoValue,this.sectionStart),this.state=s.InAttributeName,this.sectionStart=this.index)}stateBeforeAttributeValue(t){t===n.DoubleQuote?(this.state=s.InAttributeValueDq,this.sectionStart=this.index+1):t===n.SingleQuote?(this.state=s.InAttributeValueSq,this.sectionStart=this.index+1):j(t)||(this.sectionStart=this.index,this.state=s.InAttributeValueNq,this.stateInAttributeValueNoQuotes(t))}handleInAttributeValue(t,i){t===i||!this.decodeEntities&&this.fastForwardTo(i)?(this.cbs.onattribdata(this.sectionStart,this.index),this.sectionStart=-1,this.cbs.onattribend(i===n.DoubleQuote?E.Double:E.Single,this.index+1),this.state=s.BeforeAttributeName):this.decodeEntities&&t===n.Amp&&this.startEntity()}stateInAttributeValueDoubleQuotes(t){this.handleInAttributeValue(t,n.DoubleQuote)}stateInAttributeValueSingleQuotes(t){this.handleInAttributeValue(t,n.SingleQuote)}stateInAttributeValueNoQuotes(t){j(t)||t===n.Gt?(this.cbs.onattribdata(this.sectionStart,this.index),this.sectionStart=-1,this.cbs.onattribend(E.Unquoted,this.index),this.state=s.BeforeAttributeName,this.stateBeforeAttributeName(t)):this.decodeEntities&&t===n.Amp&&this.startEntity()}stateBeforeDeclaration(t){t===n.OpeningSquareBracket?(this.state=s.CDATASequence,this.sequenceIndex=0):this.xmlMode?this.state=t===n.Dash?s.BeforeComment:s.InDeclaration:(t|32)===h.Doctype[0]?(this.state=s.DeclarationSequence,this.currentSequence=h.Doctype,this.sequenceIndex=1):t===n.Gt?(this.cbs.oncomment(this.sectionStart,this.index,0),this.state=s.Text,this.sectionStart=this.index+1):t===n.Dash?this.state=s.BeforeComment:this.state=s.InSpecialComment}stateDeclarationSequence(t){this.sequenceIndex===this.currentSequence.length?(this.state=s.InDeclaration,this.stateInDeclaration(t)):(t|32)===this.currentSequence[this.sequenceIndex]?this.sequenceIndex+=1:t===n.Gt?(this.cbs.oncomment(this.sectionStart,this.index,0),this.state=s.Text,this.sectionStart=this.index+1):this.state=s.InSpecialComment}stateInDeclaration(t){(t===n.Gt||this.fastForwardTo(n.Gt))&&(this.cbs.ondeclaration(this.sectionStart,this.index),this.state=s.Text,this.sectionStart=this.index+1)}stateInProcessingInstruction(t){t===n.Questionmark?this.sequenceIndex=1:t===n.Gt&&this.sequenceIndex===1?(this.cbs.onprocessinginstruction(this.sectionStart,this.index-1),this.sequenceIndex=0,this.state=s.Text,this.sectionStart=this.index+1):this.sequenceIndex=Number(this.fastForwardTo(n.Questionmark))}stateBeforeComment(t){t===n.Dash?(this.state=s.InCommentLike,this.currentSequence=h.CommentEnd,this.sequenceIndex=0,this.sectionStart=this.index+1):this.xmlMode?this.state=s.InDeclaration:t===n.Gt?(this.cbs.oncomment(this.sectionStart,this.index,0),this.state=s.Text,this.sectionStart=this.index+1):this.state=s.InSpecialComment}stateInSpecialComment(t){(t===n.Gt||this.fastForwardTo(n.Gt))&&(this.cbs.oncomment(this.sectionStart,this.index,0),this.state=s.Text,this.sectionStart=this.index+1)}startEntity(){this.baseState=this.state,this.state=s.InEntity,this.entityStart=this.index,this.entityDecoder.startEntity(this.xmlMode?N.Strict:this.baseState===s.Text||this.baseState===s.InSpecialTag?N.Legacy:N.Attribute)}stateInEntity(){let t=this.index-this.offset,i=this.entityDecoder.write(this.buffer,t);if(i>=0)this.state=this.baseState,i===0&&(this.index-=1);else{if(t<this.buffer.length&&this.buffer.charCodeAt(t)===n.Amp){this.state=this.baseState,this.index-=1;return}this.index=this.offset+this.buffer.length-1}}cleanup(){this.running&&this.sectionStart!==this.index&&(this.state===s.Text||this.state===s.InPlainText||this.state===s.InSpecialTag&&this.sequenceIndex===0?(this.cbs.ontext(this.sectionStart,this.index),this.sectionStart=this.index):(this.state===s.InAttributeValueDq||this.state===s.InAttributeValueSq||this.state===s.InAttributeValueNq)&&(this.cbs.onattribdata(this.sectionStart,this.index),this.sectionStart=this.index))}shouldContinue(){return this.index<this.buffer.length+this.offset&&this.running}parse(){for(;this.shouldContinue();){let t=this.buffer.charCodeAt(this.index-this.offset);switch(this.state){case s.Text:{this.stateText(t);break}case s.InPlainText:{this.index=this.buffer.length+this.offset-1;break}case s.SpecialStartSequence:{this.stateSpecialStartSequence(t);break}case s.InSpecialTag:{this.stateInSpecialTag(t);break}case s.CDATASequence:{this.stateCDATASequence(t);break}case s.DeclarationSequence:{this.stateDeclarationSequence(t);break}case s.InAttributeValueDq:{this.stateInAttributeValueDoubleQuotes(t);break}case s.InAttributeName:{this.stateInAttributeName(t);break}case s.InCommentLike:{this.stateInCommentLike(t);break}case s.InSpecialComment:{this.stateInSpecialComment(t);break}case s.BeforeAttributeName:{this.stateBeforeAttributeName(t);break}case s.InTagName:{this.stateInTagName(t);break}case s.InClosingTagName:{this.stateInClosingTagName(t);break}case s.BeforeTagName:{this.stateBeforeTagName(t);break}case s.AfterAttributeName:{this.stateAfterAttributeName(t);break}case s.InAttributeValueSq:{this.stateInAttributeValueSingleQuotes(t);break}case s.BeforeAttributeValue:{this.stateBeforeAttributeValue(t);break}case s.BeforeClosingTagName:{this.stateBeforeClosingTagName(t);break}case s.AfterClosingTagName:{this.stateAfterClosingTagName(t);break}case s.InAttributeValueNq:{this.stateInAttributeValueNoQuotes(t);break}case s.InSelfClosingTag:{this.stateInSelfClosingTag(t);break}case s.InDeclaration:{this.stateInDeclaration(t);break}case s.BeforeDeclaration:{this.stateBeforeDeclaration(t);break}case s.BeforeComment:{this.stateBeforeComment(t);break}case s.InProcessingInstruction:{this.stateInProcessingInstruction(t);break}case s.InEntity:{this.stateInEntity();break}}this.index++}this.cleanup()}finish(){this.state===s.InEntity&&(this.entityDecoder.end(),this.state=this.baseState),this.handleTrailingData(),this.cbs.onend()}handleTrailingCommentLikeData(t){if(this.state!==s.InCommentLike)return!1;if(this.currentSequence===h.CdataEnd)if(this.xmlMode)this.sectionStart<t&&this.cbs.oncdata(this.sectionStart,t,0);else{let i=this.sectionStart-h.Cdata.length-1;this.cbs.oncomment(i,t,0)}else{let i=this.xmlMode?0:Math.min(this.sequenceIndex,h.CommentEnd.length-1);this.cbs.oncomment(this.sectionStart,t,i)}return!0}handleTrailingMarkupDeclaration(t){if(this.xmlMode)switch(this.state){case s.InSpecialComment:case s.BeforeComment:case s.CDATASequence:case s.DeclarationSequence:case s.InDeclaration:return this.cbs.ontext(this.sectionStart,t),!0;default:return!1}switch(this.state){case s.BeforeDeclaration:case s.InSpecialComment:case s.BeforeComment:case s.CDATASequence:return this.cbs.oncomment(this.sectionStart,t,0),!0;case s.DeclarationSequence:return this.sequenceIndex!==h.Doctype.length&&this.cbs.oncomment(this.sectionStart,t,0),!0;case s.InDeclaration:return!0;default:return!1}}handleTrailingData(){let t=this.buffer.length+this.offset;if(!(this.handleTrailingCommentLikeData(t)||this.handleTrailingMarkupDeclaration(t))&&!(this.sectionStart>=t))switch(this.state){case s.InTagName:case s.BeforeAttributeName:case s.BeforeAttributeValue:case s.AfterAttributeName:case s.InAttributeName:case s.InAttributeValueSq:case s.InAttributeValueDq:case s.InAttributeValueNq:case s.InClosingTagName:break;default:this.cbs.ontext(this.sectionStart,t)}}emitCodePoint(t,i){this.baseState!==s.Text&&this.baseState!==s.InSpecialTag?(this.sectionStart<this.entityStart&&this.cbs.onattribdata(this.sectionStart,this.entityStart),this.sectionStart=this.entityStart+i,this.index=this.sectionStart-1,this.cbs.onattribentity(t)):(this.sectionStart<this.entityStart&&this.cbs.ontext(this.sectionStart,this.entityStart),this.sectionStart=this.entityStart+i,this.index=this.sectionStart-1,this.cbs.ontextentity(t,this.sectionStart))}};var{fromCodePoint:nt}=String,M=new Set(["input","option","optgroup","select","button","datalist","textarea"]),d=new Set(["p"]),_=new Set(["h1","h2","h3","h4","h5","h6","p"]),rt=new Set(["thead","tbody"]),ht=new Set(["dd","dt"]),ot=new Set(["rt","rp"]),It=new Map([["tr",new Set(["tr","th","td"])],["th",new Set(["th"])],["td",new Set(["thead","th","td"])],["body",new Set(["head","link","script"])],["a",new Set(["a"])],["li",new Set(["li"])],["p",d],["h1",_],["h2",_],["h3",_],["h4",_],["h5",_],["h6",_],["select",M],["input",M],["output",M],["button",M],["datalist",M],["textarea",M],["option",new Set(["option"])],["optgroup",new Set(["optgroup","option"])],["dd",ht],["dt",ht],["address",d],["article",d],["aside",d],["blockquote",d],["details",d],["div",d],["dl",d],["fieldset",d],["figcaption",d],["figure",d],["footer",d],["form",d],["header",d],["hr",d],["main",d],["nav",d],["ol",d],["pre",d],["section",d],["table",d],["ul",d],["rt",ot],["rp",ot],["tbody",rt],["tfoot",rt]]),ct="doctype",Nt=new Set(["area","base","basefont","br","col","command","embed","frame","hr","img","input","isindex","keygen","link","meta","param","source","track","wbr"]),Et=new Set(["math","svg"]),ut=new Set(["mi","mo","mn","ms","mtext","annotation-xml","foreignObject","desc","title"]),ft=new Map([["altglyph","altGlyph"],["altglyphdef","altGlyphDef"],["altglyphitem","altGlyphItem"],["animatecolor","animateColor"],["animatemotion","animateMotion"],["animatetransform","animateTransform"],["clippath","clipPath"],["feblend","feBlend"],["fecolormatrix","feColorMatrix"],["fecomponenttransfer","feComponentTransfer"],["fecomposite","feComposite"],["feconvolvematrix","feConvolveMatrix"],["fediffuselighting","feDiffuseLighting"],["fedisplacementmap","feDisplacementMap"],["fedistantlight","feDistantLight"],["fedropshadow","feDropShadow"],["feflood","feFlood"],["fefunca","feFuncA"],["fefuncb","feFuncB"],["fefuncg","feFuncG"],["fefuncr","feFuncR"],["fegaussianblur","feGaussianBlur"],["feimage","feImage"],["femerge","feMerge"],["femergenode","feMergeNode"],["femorphology","feMorphology"],["feoffset","feOffset"],["fepointlight","fePointLight"],["fespecularlighting","feSpecularLighting"],["fespotlight","feSpotLight"],["fetile","feTile"],["feturbulence","feTurbulence"],["foreignobject","foreignObject"],["glyphref","glyphRef"],["lineargradient","linearGradient"],["radialgradient","radialGradient"],["textpath","textPath"]]),y;(function(e){e[e.None=0]="None",e[e.Svg=1]="Svg",e[e.MathML=2]="MathML"})(y||(y={}));var qt=/\s|\//,V=class{options;startIndex=0;endIndex=0;openTagStart=0;tagname="";attribname="";attribvalue="";attribs=null;stack=[];foreignContext;cbs;lowerCaseTagNames;lowerCaseAttributeNames;recognizeSelfClosing;htmlMode;tokenizer;buffers=[];bufferOffset=0;writeIndex=0;ended=!1;constructor(t,i={}){this.options=i,this.cbs=t??{},this.htmlMode=!this.options.xmlMode,this.lowerCaseTagNames=i.lowerCaseTags??this.htmlMode,this.lowerCaseAttributeNames=i.lowerCaseAttributeNames??this.htmlMode,this.recognizeSelfClosing=i.recognizeSelfClosing??!this.htmlMode,this.tokenizer=new(i.Tokenizer??X)(this.options,this),this.foreignContext=[y.None],this.cbs.onparserinit?.(this)}ontext(t,i){let a=this.getSlice(t,i);this.endIndex=i-1,this.cbs.ontext?.(a),this.startIndex=i}ontextentity(t,i){this.endIndex=i-1,this.cbs.ontext?.(nt(t)),this.startIndex=i}isInForeignContext(){return this.foreignContext[0]!==y.None}isVoidElement(t){return this.htmlMode&&Nt.has(t)}readTagName(t,i){let a=this.lowerCaseTagNames?this.getSlice(t,i).toLowerCase():this.getSlice(t,i);if(!(this.lowerCaseTagNames&&this.htmlMode))return a;if(this.foreignContext[0]===y.Svg)return ft.get(a)??a;if(this.foreignContext.length>1){let r=ft.get(a);if(r!==void 0&&this.stack.includes(r))return r}return this.isInForeignContext()?a:a==="image"?"img":a}onopentagname(t,i){this.endIndex=i,this.emitOpenTag(this.readTagName(t,i))}emitOpenTag(t){if(this.openTagStart=this.startIndex,this.tagname=t,this.htmlMode&&t==="form"&&this.stack.includes("form")){this.tagname="";return}let i=this.htmlMode&&It.get(t);if(i)for(;this.stack.length>0&&i.has(this.stack[0]);)this.popElement(!0);this.isVoidElement(t)||(this.stack.unshift(t),this.htmlMode&&(t==="svg"?this.foreignContext.unshift(y.Svg):t==="math"?this.foreignContext.unshift(y.MathML):ut.has(t)&&this.foreignContext.unshift(y.None))),this.cbs.onopentagname?.(t),this.cbs.onopentag&&(this.attribs={})}endOpenTag(t){this.startIndex=this.openTagStart,this.attribs&&(this.cbs.onopentag?.(this.tagname,this.attribs,t),this.attribs=null),this.cbs.onclosetag&&this.isVoidElement(this.tagname)&&this.cbs.onclosetag(this.tagname,!0),this.tagname=""}onopentagend(t){this.endIndex=t,this.endOpenTag(!1),this.startIndex=t+1}onclosetag(t,i){this.endIndex=i;let a=this.readTagName(t,i);if(this.isVoidElement(a))this.htmlMode&&a==="br"&&(this.cbs.onopentagname?.("br"),this.cbs.onopentag?.("br",{},!0),this.cbs.onclosetag?.("br",!1));else{let r=this.stack.indexOf(a);if(r!==-1){for(let u=0;u<r;u++)this.popElement(!0);this.popElement(!1)}else this.htmlMode&&a==="p"&&(this.emitOpenTag("p"),this.closeCurrentTag(!0))}this.startIndex=i+1}onselfclosingtag(t){this.endIndex=t,this.recognizeSelfClosing||this.isInForeignContext()?(this.closeCurrentTag(!1),this.startIndex=t+1):this.onopentagend(t)}popElement(t){let i=this.stack.shift();this.htmlMode&&(Et.has(i)||ut.has(i))&&this.foreignContext.shift(),this.cbs.onclosetag?.(i,t)}closeCurrentTag(t){let i=this.tagname;this.endOpenTag(t),this.stack[0]===i&&this.popElement(!t)}onattribname(t,i){this.startIndex=t;let a=this.getSlice(t,i);this.attribname=this.lowerCaseAttributeNames?a.toLowerCase():a}onattribdata(t,i){this.attribvalue+=this.getSlice(t,i)}onattribentity(t){this.attribvalue+=nt(t)}onattribend(t,i){this.endIndex=i,this.cbs.onattribute?.(this.attribname,this.attribvalue,t===E.Double?'"':t===E.Single?"'":t===E.NoValue?void 0:null),this.attribs&&!Object.hasOwn(this.attribs,this.attribname)&&(this.attribs[this.attribname]=this.attribvalue),this.attribvalue=""}getInstructionName(t){let i=t.search(qt),a=i<0?t:t.substr(0,i);return this.lowerCaseTagNames&&(a=a.toLowerCase()),a}ondeclaration(t,i){this.endIndex=i;let a=this.getSlice(t,i);if(this.cbs.onprocessinginstruction){let r=this.htmlMode?this.lowerCaseTagNames?ct:a.slice(0,ct.length):this.getInstructionName(a);this.cbs.onprocessinginstruction(`!${r}`,`!${a}`)}this.startIndex=i+1}onprocessinginstruction(t,i){this.endIndex=i;let a=this.getSlice(t,i);if(this.cbs.onprocessinginstruction){let r=this.getInstructionName(a);this.cbs.onprocessinginstruction(`?${r}`,`?${a}`)}this.startIndex=i+1}oncomment(t,i,a){this.endIndex=i,this.cbs.oncomment?.(this.getSlice(t,i-a)),this.cbs.oncommentend?.(),this.startIndex=i+1}oncdata(t,i,a){this.endIndex=i;let r=this.getSlice(t,i-a);!this.htmlMode||this.options.recognizeCDATA?(this.cbs.oncdatastart?.(),this.cbs.ontext?.(r),this.cbs.oncdataend?.()):this.isInForeignContext()?this.cbs.ontext?.(r):(this.cbs.oncomment?.(`[CDATA[${r}]]`),this.cbs.oncommentend?.()),this.startIndex=i+1}onend(){if(this.cbs.onclosetag){this.endIndex=this.startIndex;for(let t=0;t<this.stack.length;t++)this.cbs.onclosetag(this.stack[t],!0)}this.cbs.onend?.()}reset(){this.cbs.onreset?.(),this.tokenizer.reset(),this.tagname="",this.attribname="",this.attribvalue="",this.attribs=null,this.stack.length=0,this.startIndex=0,this.endIndex=0,this.cbs.onparserinit?.(this),this.buffers.length=0,this.foreignContext.length=0,this.foreignContext.unshift(y.None),this.bufferOffset=0,this.writeIndex=0,this.ended=!1}parseComplete(t){this.reset(),this.end(t)}getSlice(t,i){if(t===i)return"";for(;t-this.bufferOffset>=this.buffers[0].length;)this.shiftBuffer();let a=this.buffers[0].slice(t-this.bufferOffset,i-this.bufferOffset);for(;i-this.bufferOffset>this.buffers[0].length;)this.shiftBuffer(),a+=this.buffers[0].slice(0,i-this.bufferOffset);return a}shiftBuffer(){this.bufferOffset+=this.buffers[0].length,this.writeIndex--,this.buffers.shift()}write(t){if(this.ended){this.cbs.onerror?.(new Error(".write() after done!"));return}this.buffers.push(t),this.tokenizer.running&&(this.tokenizer.write(t),this.writeIndex++)}end(t){if(this.ended){this.cbs.onerror?.(new Error(".end() after done!"));return}t&&this.write(t),this.ended=!0,this.tokenizer.end()}pause(){this.tokenizer.pause()}resume(){for(this.tokenizer.resume();this.tokenizer.running&&this.writeIndex<this.buffers.length;)this.tokenizer.write(this.buffers[this.writeIndex++]);this.ended&&this.tokenizer.end()}};return xt(kt);})();
const PART_SIZE = 6_000, LINKS_MOST = 60, LINK_TEXT = 120;
const BLOCK_SIZE = 20_000, ATTRIBUTE_SIZE = 500;
const DEPTH_MOST = 2_000, BLOCKS_MOST = 20_000, CONTAINERS_MOST = 20_000, LINKS_SEEN = 2_000;
const fails = (code, message) => Object.assign(new Error(message), { code });
const squeeze = (text) => text.replace(/\s+/g, " ").trim();

// ---- an HTML page: its text as blocks, each in the innermost of its containers

const SILENT = new Set("script style template noscript iframe object svg math select textarea video audio canvas button datalist dialog map".split(" "));
const BREAKS = new Set("p h1 h2 h3 h4 h5 h6 li dt dd tr caption figcaption summary address hr option legend title pre".split(" "));
const CONTAINERS = new Set("body main article section div ul ol dl table thead tbody td th header footer nav aside form fieldset blockquote figure details center".split(" "));
const WEAK_TAGS = new Set(["nav", "aside", "footer"]);
const WEAK_ROLES = /^(navigation|banner|contentinfo|complementary|search|dialog|alert|menu|menubar|toolbar)$/;
const WEAK_NAMES = /(^|[\s_-])(nav|navbar|navigation|menu|footer|sidebar|breadcrumbs?|cookies?|consent|share|sharing|social|related|promo|adverts?|ads|pagination|newsletter|popup|modal|toc|skip|toolbar)([\s_-]|$)/i;
const HIDDEN = /display\s*:\s*none|visibility\s*:\s*hidden/i;
const STOP = {};

class Page {
  constructor() {
    this.blocks = [];
    this.links = [];
    this.meta = {};
    this.title = "";
    this.base = "";
    this.isCut = false;
    // text and linked: the characters in a container, and those of them that are links; weak: it looks like what stands around a text.
    this.containers = [{ name: "", parent: -1, from: 0, to: 0, text: 0, linked: 0, isWeak: false }];
    this.open = [];
    this.current = 0;
    this.text = "";
    this.linked = 0;
    this.kind = "p";
    this.silent = 0;
    this.pre = 0;
    this.lists = [];
    this.quotes = 0;
    this.mark = undefined;
    this.row = 0; // the number of the table row, 0 outside of any
    this.rows = 0;
    this.link = null;
    this.isTitle = false;
  }

  // Ends the block that is being written.
  flush() {
    const text = this.kind === "pre" ? this.text.trimEnd().replace(/^\n+/, "") : squeeze(this.text);
    if (text) {
      if (this.blocks.length >= BLOCKS_MOST) throw STOP;
      const size = text.length, linked = Math.min(this.linked, size);
      const depth = Math.min(this.lists.length, 10);
      this.blocks.push({ kind: this.kind, text, depth, mark: this.mark, quoted: this.quotes > 0, row: this.row, at: this.current });
      const container = this.containers[this.current];
      container.text += size;
      container.linked += linked;
      this.mark = undefined;
    }
    this.text = "";
    this.linked = 0;
    this.kind = this.pre ? "pre" : "p";
  }

  onopentag(name, attributes) {
    if (this.open.length >= DEPTH_MOST) throw STOP;
    const state = { name, container: this.current, silent: this.silent };
    this.open.push(state);
    if (name === "title" && !this.title && !this.silent) this.isTitle = true;
    else if (name === "meta") this.readMeta(attributes);
    else if (name === "base" && !this.base) this.base = attributes.href ?? "";
    else if (name === "html") this.language = attributes.lang;
    const isHidden = "hidden" in attributes || attributes["aria-hidden"] === "true" || HIDDEN.test((attributes.style ?? "").slice(0, ATTRIBUTE_SIZE));
    if (SILENT.has(name) || (isHidden && name !== "body" && name !== "html")) this.silent++;
    if (this.silent) return;
    if (CONTAINERS.has(name)) this.openContainer(name, attributes);
    else if (BREAKS.has(name)) this.flush();
    if (/^h[1-6]$/.test(name)) this.kind = name;
    else if (name === "li") [this.kind, this.mark] = ["li", this.nextMark()];
    else if (name === "br") this.text += this.pre ? "\n" : " ";
    else if (name === "pre") this.pre++, (this.kind = "pre");
    else if (name === "tr") this.row = ++this.rows;
    else if ((name === "td" || name === "th") && this.row) this.kind = "cell";
    else if (name === "a" && attributes.href) this.link = { url: attributes.href, from: this.text.length, block: this.blocks.length };
  }

  openContainer(name, attributes) {
    this.flush();
    if (name === "ul" || name === "ol") this.lists.push({ next: name === "ol" ? Number(attributes.start ?? 1) || 1 : 0 });
    if (name === "blockquote") this.quotes++;
    if (this.containers.length >= CONTAINERS_MOST) return;
    const role = attributes.role ?? "", names = `${attributes.class ?? ""} ${attributes.id ?? ""}`.slice(0, ATTRIBUTE_SIZE);
    const isMain = name === "main" || role === "main" || attributes.itemprop === "articleBody";
    const isWeak = !isMain && name !== "body" && name !== "article" && (WEAK_TAGS.has(name) || WEAK_ROLES.test(role) || WEAK_NAMES.test(names));
    this.containers.push({ name: isMain ? "main" : name, parent: this.current, from: this.blocks.length, to: -1, text: 0, linked: 0, isWeak });
    this.current = this.containers.length - 1;
  }

  nextMark() {
    const list = this.lists.at(-1);
    return list?.next ? `${list.next++}.` : "-";
  }

  readMeta({ name, property, content }) {
    const key = (property ?? name ?? "").toLowerCase();
    if (content && /^(og:title|og:description|description|article:published_time|article:modified_time|date|author)$/.test(key)) this.meta[key] ??= squeeze(content);
  }

  ontext(text) {
    if (this.isTitle) this.title = (this.title + text).slice(0, 1_000);
    else if (!this.silent) {
      this.text += text;
      if (this.link) this.linked += text.length;
      if (this.text.length > BLOCK_SIZE) this.flush();
    }
  }

  onclosetag(name) {
    const state = this.open.pop();
    if (name === "title") this.isTitle = false;
    if (this.silent) {
      this.silent = state?.silent ?? 0;
      return;
    }
    if (name === "a" && this.link) this.closeLink();
    if (BREAKS.has(name) || CONTAINERS.has(name)) this.flush();
    if (name === "pre") this.pre = Math.max(0, this.pre - 1), (this.kind = "p");
    if (name === "ul" || name === "ol") this.lists.pop();
    if (name === "blockquote") this.quotes = Math.max(0, this.quotes - 1);
    if (name === "tr") this.row = 0;
    if (state && this.current !== state.container) {
      this.containers[this.current].to = this.blocks.length;
      this.current = state.container;
    }
  }

  closeLink() {
    const { url, from, block } = this.link;
    const text = squeeze(block === this.blocks.length ? this.text.slice(from) : this.text);
    if (text && this.links.length < LINKS_SEEN) this.links.push({ text: text.slice(0, LINK_TEXT), url, block: this.blocks.length });
    this.link = null;
  }
}

function parseHtml(html) {
  const page = new Page();
  const parser = new htmlparser2.Parser(page, { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true });
  try {
    parser.write(html);
    parser.end();
    page.flush();
  } catch (problem) {
    if (problem !== STOP) throw problem;
    page.isCut = true;
    if (page.blocks.length < BLOCKS_MOST) page.flush();
  }
  return page;
}

// ---- the part of it that people come for

function addUp(containers, end) {
  for (const container of containers) if (container.to < 0) container.to = end;
  containers[0].to = end;
  for (const container of containers) container.all = container.text, (container.allLinked = container.linked);
  for (let i = containers.length - 1; i > 0; i--) {
    const { parent, all, allLinked, isWeak } = containers[i];
    if (isWeak) continue; // what stands around a text does not count as one
    containers[parent].all += all;
    containers[parent].allLinked += allLinked;
  }
}

const plainOf = (container) => container.all - container.allLinked;

function largest(containers, fits) {
  let found;
  for (const container of containers) if (fits(container) && (!found || plainOf(container) > plainOf(found))) found = container;
  return found;
}

// The page's own word for it (main, article) counts when enough of the text is in there; else the container is taken that still holds most of it.
function findContent(containers) {
  const whole = plainOf(containers[0]);
  const main = largest(containers, ({ name, isWeak }) => name === "main" && !isWeak);
  const within = main && plainOf(main) >= whole / 4 ? main : containers[0];
  const article = largest(containers, (each) => each.name === "article" && !each.isWeak && each.from >= within.from && each.to <= within.to);
  if (article && plainOf(article) >= plainOf(within) * 0.5) return article;
  if (within !== containers[0]) return within;
  const heaviest = new Map();
  containers.forEach((container, place) => {
    const before = heaviest.get(container.parent);
    if (place && !container.isWeak && (before === undefined || plainOf(container) > plainOf(containers[before]))) heaviest.set(container.parent, place);
  });
  let place = 0;
  for (;;) {
    const next = heaviest.get(place);
    if (next === undefined || plainOf(containers[next]) < plainOf(containers[place]) * 0.75) return containers[place];
    place = next;
  }
}

// Blocks of menus and the like are left out, and lists of nothing but links, unless the page is a list of links.
function contentOf(page) {
  const { containers, blocks } = page;
  addUp(containers, blocks.length);
  const content = findContent(containers);
  const isDirectory = plainOf(content) < content.all * 0.35;
  const left = containers.map(() => false);
  containers.forEach((container, place) => {
    const isMenu = !isDirectory && container.all > 0 && container.allLinked > container.all * 0.8 && container.to - container.from > 3;
    left[place] = place > 0 && container !== content && (left[container.parent] || container.isWeak || isMenu);
  });
  const outer = new Set();
  for (let each = containers.indexOf(content); each >= 0; each = containers[each].parent) outer.add(each);
  const keeps = (block) => outer.has(block.at) || !left[block.at];
  const kept = [];
  for (let i = content.from; i < content.to; i++) if (keeps(blocks[i])) kept.push(i);
  return kept.length ? kept : blocks.map((_, i) => i);
}

function lineOf({ kind, text, depth, mark, quoted }) {
  let line = text;
  if (kind === "pre") line = `\`\`\`\n${text}\n\`\`\``;
  else if (/^h\d$/.test(kind)) line = `${"#".repeat(Number(kind[1]))} ${text}`;
  else if (kind === "li" || mark) line = `${"  ".repeat(Math.max(depth - 1, 0))}${mark ?? "-"} ${text}`;
  return quoted ? line.replace(/^/gm, "> ") : line;
}

// Each piece: a text and the blocks that it came from. The cells of a row stand in one line, the items of a list below each other.
function piecesOf(page) {
  const pieces = [];
  let before = "";
  for (const place of contentOf(page)) {
    const block = page.blocks[place], isItem = block.kind === "li" || block.mark;
    const last = pieces.at(-1);
    if (block.kind === "cell" && before === "cell" && block.row === last.row && last.text.length < PART_SIZE)
      last.text += ` | ${block.text}`, (last.to = place);
    else pieces.push({ text: lineOf(block), from: place, to: place, row: block.row, isClose: Boolean(isItem && before === "li") || (block.kind === "cell" && before === "cell") });
    before = isItem ? "li" : block.kind;
  }
  return pieces;
}

// ---- feeds: their entries, newest as the feed has them

function parseFeed(xml) {
  const feed = { title: "", entries: [] };
  let entry = null, text = "", depth = 0;
  const parser = new htmlparser2.Parser({
    onopentag(name, attributes) {
      if (++depth > DEPTH_MOST) throw STOP;
      text = "";
      if (name === "item" || name === "entry") entry = {};
      if (name === "link" && entry && attributes.href && (attributes.rel ?? "alternate") === "alternate") entry.url ??= attributes.href;
    },
    ontext(more) {
      if (text.length < 20_000) text += more;
    },
    onclosetag(name) {
      depth--;
      const said = text.trim();
      text = "";
      if (!entry) {
        if (name === "title") feed.title ||= squeeze(said);
        return;
      }
      if (name === "title") entry.title ??= squeeze(said);
      else if (name === "link" && said) entry.url ??= said;
      else if (/^(pubDate|published|updated|dc:date)$/.test(name)) entry.date ??= squeeze(said);
      else if (/^(description|summary|content|content:encoded)$/.test(name) && said) entry.summary ??= said;
      else if (name === "item" || name === "entry") {
        if (feed.entries.length < 200) feed.entries.push(entry);
        entry = null;
      }
    },
  }, { xmlMode: true, decodeEntities: true });
  try {
    parser.write(xml);
    parser.end();
  } catch (problem) {
    if (problem !== STOP) throw problem;
  }
  return feed;
}

function feedPieces(feed) {
  return feed.entries.map(({ title, url, date, summary }) => {
    const told = summary ? squeeze(parseHtml(summary).blocks.map((block) => block.text).join(" ")).slice(0, 300) : "";
    return { text: [`- ${[title || "(no title)", date && `(${date})`].filter(Boolean).join(" ")}`, url, told].filter(Boolean).join("\n  "), isClose: true };
  });
}

// ---- parts

const WIDE = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g;
const sizeOf = (text) => text.length + (text.match(WIDE)?.length ?? 0);

// A piece that is longer than a part is cut at ends of lines or words, where there are any.
function splitLong(piece) {
  const { text } = piece;
  if (sizeOf(text) <= PART_SIZE) return [piece];
  const most = PART_SIZE / 2, split = [];
  for (let from = 0; from < text.length; ) {
    const window = text.slice(from, from + most);
    let size = window.length;
    if (from + size < text.length) {
      size = Math.max(window.lastIndexOf("\n"), window.lastIndexOf(" ")) + 1;
      if (size <= most / 2) size = most - (/[\ud800-\udbff]$/.test(window) ? 1 : 0);
    }
    split.push({ ...piece, text: window.slice(0, size).trimEnd(), isClose: piece.isClose || from > 0 });
    from += size;
  }
  return split;
}

function partsOf(pieces) {
  const parts = [];
  let size = Infinity;
  for (const piece of pieces.flatMap(splitLong)) {
    const more = sizeOf(piece.text);
    if (size + more > PART_SIZE) parts.push([]), (size = 0);
    parts.at(-1).push(piece);
    size += more + 2;
  }
  return parts;
}

const textOf = (part) => part.map(({ text, isClose }, i) => (i ? (isClose ? "\n" : "\n\n") : "") + text).join("");

// ---- the request

function addressOf(text) {
  const address = text.trim().replace(/^<(.*)>$/, "$1");
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `https://${address}`;
  let url;
  try {
    url = new URL(whole);
  } catch {
    throw fails("EINVAL", `not an address: ${JSON.stringify(address.slice(0, 100))}; write it as https://example.com/page`);
  }
  if (!/^https?:$/.test(url.protocol)) throw fails("EINVAL", `${url.protocol} is not read here: only https and http`);
  return url.href;
}

async function load(url) {
  const response = await fetch(url);
  const { status } = response, host = new URL(response.url).host;
  if (status === 404 || status === 410) throw fails("ENOENT", `${host} has no such page (${status})`);
  if (status === 401 || status === 402 || status === 403) throw fails("EACCES", `${host} does not show this page to programs, or wants a sign-in (${status})`);
  if (status === 429) throw fails("ENET", `${host} has been asked too often for now (429): try again later`);
  if (!response.ok) throw fails("ENET", `${host} did not answer with a page (${status}): try again later`);
  return response;
}

function readText(kind, text, url) {
  const begin = text.slice(0, 500).trimStart();
  const isXml = /[/+]xml$/.test(kind) && kind !== "application/xhtml+xml";
  if ((isXml || begin.startsWith("<?xml")) && /<(rss|feed|rdf:RDF)[\s>]/.test(text.slice(0, 3_000))) {
    const feed = parseFeed(text);
    return { title: feed.title, pieces: feedPieces(feed), isFeed: true };
  }
  const isHtml = /html/.test(kind) || (!isXml && /^(<!--.*?-->\s*)?<(!doctype\s+html|html|head|body)\b/is.test(begin));
  if (!isHtml) return { title: "", pieces: text.split(/\n{2,}/).filter((each) => each.trim()).map((each) => ({ text: each.trimEnd() })) };
  const page = parseHtml(text), { meta } = page;
  const heading = page.blocks.find((block) => block.kind === "h1")?.text;
  const published = meta["article:published_time"] ?? meta.date;
  return {
    title: squeeze(page.title) || meta["og:title"] || heading || "",
    description: meta.description ?? meta["og:description"],
    published, language: page.language, pieces: piecesOf(page), page, base: page.base || url, isCut: page.isCut,
  };
}

function linksOf({ page, base }, part, url) {
  const inPart = new Set();
  for (const { from, to } of part) for (let i = from; i <= to; i++) inPart.add(i);
  const links = new Map();
  for (const link of page.links) {
    if (!inPart.has(link.block) || links.size >= LINKS_MOST || link.url.startsWith("#")) continue;
    let target;
    try {
      target = new URL(link.url, new URL(base, url));
    } catch {
      continue;
    }
    if (/^https?:$/.test(target.protocol) && target.href.split("#")[0] !== url.split("#")[0] && !links.has(target.href)) links.set(target.href, { text: link.text, url: target.href });
  }
  return [...links.values()];
}

const isGiven = input.html !== undefined;
const response = isGiven ? null : await load(addressOf(input.url));
const url = isGiven ? addressOf(input.url) : response.url;
const kind = isGiven ? "text/html" : (response.headers.get("content-type") ?? "").split(";")[0].trim();
const source = (isGiven ? input.html : await response.text()).replace(/\r\n?/g, "\n").replace(/[\0-\x08\x0b-\x1f\x7f]/g, "");
const read = readText(kind, source, url);
// what is given is answered whole: whoever has the page has no need of parts
const parts = isGiven ? [read.pieces].filter((pieces) => pieces.length) : partsOf(read.pieces), { part: number } = input;
if (number > Math.max(parts.length, 1)) throw fails("EINVAL", `the page has ${parts.length} parts: part is at most ${parts.length}`);
const part = parts[number - 1] ?? [];
const shown = { url, title: read.title.slice(0, 300) };
if (number === 1 && read.description) shown.description = read.description.slice(0, 500);
if (read.published) shown.published = read.published.slice(0, 60);
if (read.language) shown.language = read.language.slice(0, 20);
Object.assign(shown, { part: number, parts: Math.max(parts.length, 1), text: textOf(part) });
if (input.links) shown.links = read.page ? linksOf(read, part, url) : [];
const isCut = response?.headers.has("x-sigil-cut") || read.isCut;
if (isCut) shown.note = "the page goes on: only its beginning was read";
else if (!parts.length) shown.note = "the page has no readable text; it may be made by scripts, which do not run here";
return shown;
